# Sourced by the scripts beside it: the repository's root, installing what is missing, and private
# apt folders for what comes from newer Debian suites.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TILEWRIGHT_ARM_TOOLS=${TILEWRIGHT_ARM_TOOLS:-$HOME/.cache/tilewright/arm-tools}
TILEWRIGHT_LLAMA=${TILEWRIGHT_LLAMA:-$HOME/.cache/tilewright/llama}
TILEWRIGHT_LITERT=${TILEWRIGHT_LITERT:-$HOME/.cache/tilewright/litert}
TILEWRIGHT_ONNXRUNTIME=${TILEWRIGHT_ONNXRUNTIME:-$HOME/.cache/tilewright/onnxruntime}
TILEWRIGHT_BOCHS=${TILEWRIGHT_BOCHS:-$HOME/.cache/tilewright/bochs}
export TILEWRIGHT_ARM_TOOLS TILEWRIGHT_LLAMA TILEWRIGHT_LITERT TILEWRIGHT_ONNXRUNTIME
export TILEWRIGHT_BOCHS root

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
  # Lists of packages are fetched where there are none, or where they are too old.
  apt_root install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    { apt_root update && apt_root install -y --no-install-recommends "${missing[@]}" >/dev/null; }
}

# The address of the Debian archive that apt is set up with.
archive() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
    awk '$2 ~ /^(bookworm|12|oldstable|trixie|13|stable)/ && $1 !~ /security/ {print $1; exit}'
}

# apt_area FOLDER ARCHITECTURE SUITE: private apt folders that know this suite of the archive only;
# apt uses them with APT_CONFIG=FOLDER/apt.conf.
apt_area() {
  local area=$1 uri
  uri=$(archive)
  if [ -z "$uri" ]; then
    apt_root update
    uri=$(archive)
  fi
  [ -n "$uri" ] || { echo "apt on this machine knows no Debian archive" >&2; return 1; }
  mkdir -p "$area/lists/partial" "$area/cache/archives/partial"
  : >"$area/status"
  # Signatures are checked; an expired Release file is tolerated because mirrors may lag.
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg check-valid-until=no]" \
    "$uri $3 main" >"$area/sources.list"
  cat >"$area/apt.conf" <<CONF
APT::Architecture "$2"; APT::Architectures { "$2"; }; APT::Sandbox::User "root";
Dir::Etc::SourceList "$area/sources.list"; Dir::Etc::SourceParts "-";
Dir::Etc::Preferences "/dev/null"; Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "$area/lists"; Dir::State::status "$area/status"; Dir::Cache "$area/cache";
Acquire::Retries "3"; Acquire::Languages "none";
CONF
  APT_CONFIG=$area/apt.conf apt-get -qq update
}

# unpack_packages FOLDER ARCHITECTURE SUITE PACKAGE...: the suite's packages and what they depend
# on, without installing them; FOLDER/packages lists them.
unpack_packages() {
  local folder=$1 area=$1/apt deb
  apt_area "$area" "$2" "$3" &&
    # The area's system has nothing installed, so apt names everything down to libc.
    APT_CONFIG=$area/apt.conf apt-get -qq -y --no-install-recommends --download-only \
      install "${@:4}" || return 1
  for deb in "$area"/cache/archives/*.deb; do
    dpkg-deb -x "$deb" "$folder" || return 1
    # shellcheck disable=SC2016
    dpkg-deb -W --showformat '${Package} ${Version}\n' "$deb"
  done >"$folder/packages"
  rm -rf "$area" "${folder:?}/usr/share"
}

# fetch_packages WHAT FOLDER ARCHITECTURE SUITES PACKAGE...: unpacks the packages, and what they
# need, from the first of these suites that has them; quick when FOLDER has them already.
fetch_packages() {
  local what=$1 folder=$2 architecture=$3 suites=$4 suite
  shift 4
  [ ! -f "$folder/packages" ] || return 0
  echo "fetching $what for $architecture"
  for suite in $suites; do
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    if unpack_packages "$folder.new" "$architecture" "$suite" "$@"; then
      rm -rf "$folder"
      mv "$folder.new" "$folder"
      return
    fi
  done
  rm -rf "$folder.new"
  echo "this machine's Debian archive gave no $* for $architecture (suites: $suites): see apt's" \
    "messages above; the network is needed once" >&2
  return 1
}

# write_starter FOLDER LIBRARY: the starter of programs that are linked with the packages' LIBRARY.
write_starter() {
  cat >"$1/.starter" <<RUN
#!/bin/sh
# run PROGRAM [ARGUMENTS]: with the libraries here. Arm programs run under QEMU on other machines.
here=\$(cd "\$(dirname "\$0")" && pwd)
libraries=\$(dirname "\$here"/usr/lib/*/$2)
emulator=
case \$libraries:\$(uname -m) in
*/aarch64-linux-gnu:aarch64 | */x86_64-linux-gnu:*) ;;
*) emulator=\${TILEWRIGHT_ARM_TOOLS:-\$HOME/.cache/tilewright/arm-tools}/bin/qemu-aarch64 ;;
esac
[ -z "\$emulator" ] || [ -x "\$emulator" ] ||
  { echo "\$emulator is missing: scripts/setup-arm-tools installs it" >&2; exit 127; }
exec \$emulator "\$libraries"/ld-linux-*.so.[0-9] --library-path "\$libraries" "\$@"
RUN
  chmod +x "$1/.starter"
  mv "$1/.starter" "$1/run"
}
