# To be read by a shell of its own (source): gives what the documents show a home, which goes away with that shell.
example_home=$(mktemp -d) || exit
export HOME=$example_home
export XDG_RUNTIME_DIR=$HOME/run XDG_STATE_HOME=$HOME/state XDG_CONFIG_HOME=$HOME/config
mkdir "$XDG_RUNTIME_DIR"
# Whatever becomes of HOME later, only this folder is deleted.
trap 'oam service stop >"$example_home/stopped" 2>&1; rm -rf "$example_home"' EXIT
case $(uname) in
    Darwin) data="$HOME/Library/Application Support/oam/data" ;;
    *) data=$XDG_STATE_HOME/oam ;;
esac
export data
