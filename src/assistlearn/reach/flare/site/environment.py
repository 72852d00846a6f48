"""What ``site start`` tells the processes of a site's jobs, through their environment."""

SITE = "ASSISTLEARN_SITE"
"""The organisation's name."""

AGENT_FILE = "ASSISTLEARN_AGENT"
"""The organisation's agent file."""

LINES = "ASSISTLEARN_LINES"
"""Where commands of this organisation leave word of the line they wait at."""
