#!/bin/sh
# A tool for oam: arguments come as JSON on standard input, what is printed is the output.
city=$(sed -n 's/.*"city":"\([^"]*\)".*/\1/p')
[ -n "$city" ] || { echo "which city?" >&2; exit 3; }
printf '{"city": "%s", "temperature_c": 14, "conditions": "light rain"}\n' "$city"
