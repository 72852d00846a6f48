"""What ``site start`` tells the processes of a site's jobs, through their environment."""

SITE = "ASSISTLEARN_SITE"
"""The organisation's name."""

AGENT_FILE = "ASSISTLEARN_AGENT"
"""The organisation's agent file."""

COMMANDS = "ASSISTLEARN_COMMANDS"
"""Where commands of this organisation leave word of the socket they wait at."""

KIT = "ASSISTLEARN_KIT"
"""The folder of the site's kit, or the relay's."""
