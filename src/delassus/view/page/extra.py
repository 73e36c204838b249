"""The package behind `delassus[view]`, or one sentence; and a server that nobody else reaches."""

import importlib.util
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from delassus.errors import SettingsError
from delassus.view.page import sprites

LOOPBACK = "127.0.0.1"
# In narrow windows, from 36em on, viser's panel is a sheet over most of the picture: put it below.
_NARROW = """<style>
@media (max-width: 36em) {
  #root { height: 55% !important; }
  #root [style*="max-height: 60%"] { max-height: 45% !important; height: 45% !important; width: 100% !important; }
  #root [style*="width: 20em"] { width: 100% !important; }
}
</style>"""


def is_installed() -> bool:
    """Can a page be served here?"""
    return importlib.util.find_spec("viser") is not None


def serve(port: int, title: str) -> Any:
    """A `viser.ViserServer` on loopback; it hands out its own page and what is drawn, and reads no file."""
    if not is_installed():
        raise SettingsError("the viewer needs the package of an extra: pip install 'delassus[view]'")
    import viser

    with redirect_stdout(StringIO()):  # it greets with a table
        server = viser.ViserServer(host=LOOPBACK, port=port, label=title, verbose=False)
    server.scene.set_up_direction("+z")
    server.scene.configure_environment_map(hdri=None)  # pictures of surroundings would come from the network
    server.scene.add_light_ambient("/light/ambient", intensity=1.1)
    server.gui.main_panel.dock_right()
    server.gui.add_html(_NARROW + sprites.in_page())
    return server


def stop(server: Any) -> None:
    """End it without a word, as it began."""
    with redirect_stdout(StringIO()):
        server.stop()
