# A home of its own for what the documents show, so that nothing of yours is touched.
HOME=$(mktemp -d)
export HOME XDG_RUNTIME_DIR=$HOME/run XDG_STATE_HOME=$HOME/state XDG_CONFIG_HOME=$HOME/config
mkdir "$XDG_RUNTIME_DIR"
trap 'oam service stop >"$HOME/stopped" 2>&1; rm -rf "$HOME"' EXIT
case $(uname) in
    Darwin) data="$HOME/Library/Application Support/oam/data" ;;
    *) data=$XDG_STATE_HOME/oam ;;
esac
export data
