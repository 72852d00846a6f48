"""The environment variables by which ``site start`` tells the processes of a site's jobs what they need."""

SITE = "ASSISTLEARN_SITE"
"""The organisation's name."""

AGENT_FILE = "ASSISTLEARN_AGENT"
"""The organisation's agent file."""

COMMANDS = "ASSISTLEARN_COMMANDS"
"""The folder in which commands of this organisation leave a note about the socket they wait at."""

KIT = "ASSISTLEARN_KIT"
"""The folder of the site's kit, or the relay's."""
