"""Make the picture of the dashboard in the docs: the demo's policy with its open alarm."""

import argparse
import io
from pathlib import Path

from dashboard_tools import DRAWN, opened_browser, served, set_size, wait_for
from PIL import Image

PLACE = Path(__file__).parents[2] / "docs" / "images" / "dashboard.png"
WIDTH = 1280


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PLACE, help="the PNG file")
    out = parser.parse_args().out
    with served("--demo") as address, opened_browser(WIDTH) as browser:
        browser.get(f"{address}/policies/dosing")
        wait_for(browser, DRAWN)
        end = "document.getElementById('charts').getBoundingClientRect().bottom"
        set_size(browser, WIDTH, round(browser.execute_script(f"return {end}")) + 20)
        wait_for(browser, DRAWN)
        picture = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
    picture.convert("RGB").quantize(128).save(out, optimize=True)
    print(f"{out}: {out.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
