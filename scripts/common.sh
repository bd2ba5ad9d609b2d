# Sourced by the scripts beside it: the repository's root, and installing what is missing.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TILEWRIGHT_ARM_TOOLS=${TILEWRIGHT_ARM_TOOLS:-$HOME/.cache/tilewright/arm-tools}
export TILEWRIGHT_ARM_TOOLS root

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "packages must be installed as root, and there is no sudo: run \"$*\" as root" >&2
    return 1
  fi
}

apt_root() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 \
    -o Acquire::Retries=3 "$@"
}

# install_missing PACKAGE...: installs those that are not installed; quick when none is missing.
install_missing() {
  local package missing=()
  for package in "$@"; do
    # shellcheck disable=SC2016
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing ${missing[*]}"
  apt_root update && apt_root install -y --no-install-recommends "${missing[@]}" >/dev/null
}
