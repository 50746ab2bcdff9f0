# The walks share these functions. Everything that is downloaded or built is kept in .build/walks. The client for Python
# is the repository's.
walks=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.build/walks
export PYTHONPATH=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd):$(cd "$(dirname "${BASH_SOURCE[0]}")/../../Clients/python/src" && pwd)
export PYTHONDONTWRITEBYTECODE=1
mkdir -p "$walks"

# python_environment NAME REQUIREMENT... makes a virtual environment with these packages, and prints its path.
python_environment() {
    local folder=$walks/$1-venv wanted
    shift
    wanted=$(printf '%s\n' "$@")
    if [ "$(cat "$folder/requirements" 2> /dev/null)" != "$wanted" ]; then
        rm -rf "$folder"
        python3 -m venv "$folder" >&2
        "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" >&2
        printf '%s\n' "$wanted" > "$folder/requirements"
    fi
    echo "$folder"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# This checks whether the system allows namespaces, and doesn't use the program under test.
can_intercept() {
    unshare --map-root-user --mount --net true 2> /dev/null ||
        { echo "namespaces aren't allowed here: not by the host names themselves" >&2; return 1; }
}
