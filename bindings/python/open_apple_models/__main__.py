"""`python -m open_apple_models`: which `oam` would be used, and whether its model can be asked."""

from __future__ import annotations

import sys

from . import Bridge, BridgeError, __version__


def main() -> int:
    print(f"open_apple_models {__version__}, Python {sys.version.split()[0]}")
    try:
        with Bridge() as bridge:
            print(f"oam {bridge.version}, {bridge}")
            availability = bridge.call_blocking("model/availability")
    except (OSError, BridgeError) as error:
        print(error, file=sys.stderr)
        return 1
    reason = availability.get("reason")
    print("The model is available." if availability["available"] else f"The model is not available: {reason}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
