"""What stands between strangers and the web app: who may come in, to what, how often, and what they are sent.

It speaks ASGI and knows Gradio's addresses, but imports nothing of it.
"""

from causalviz.ui.serving.accounts import Accounts, login_line
from causalviz.ui.serving.doors import doors
from causalviz.ui.serving.failures import unforeseen

__all__ = ["Accounts", "doors", "login_line", "unforeseen"]
