"""``python -m deniably_client`` is the command ``deniably``."""

from deniably_client.cli import main

main()
