# SPDX-License-Identifier: GPL-3.0-or-later
# Functions for checks that need an empty Debian: a chroot made by debootstrap, as root.
# shellcheck shell=sh
# Before it is read, $check is the name that begins messages, and $cache a folder for empty systems.
# MIRROR names a Debian mirror; the default is the one that apt uses here.
complain() { echo "$check: $*" >&2 && exit 1; }
impossible() { echo "$check: $*" >&2 && exit 2; }

[ "$(id -u)" = 0 ] || impossible "only root can make a chroot: type sudo make $check"
unshare --mount --pid --fork true 2>/dev/null || impossible "namespaces are not permitted here"
suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") ||
    impossible "this system is not Debian"
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
    'Component: main' "Codename: $suite" | head -n 1)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log

quietly() {
    "$@" >"$log" 2>&1 && return
    tail -n 20 "$log" >&2
    complain "'$*' fails"
}

# new_system ROOT [NAME PACKAGE...]: an empty Debian with these packages, kept under NAME
new_system() {
    root=$1 name=${2:-minbase}
    [ $# -lt 2 ] || shift 2
    mkdir -p "$cache" "$root"
    if [ ! -e "$cache/$suite-$name.tar" ]; then
        if [ $name = minbase ]; then
            debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$log" 2>&1 ||
                complain "debootstrap fails: $(tail -n 1 "$log")"
        else
            (new_system "$root") || exit 1
            quietly inside "$root" apt-get update -q
            quietly inside "$root" apt-get install -y -q "$@"
        fi
        inside "$root" apt-get clean
        tar -C "$root" -cf "$cache/new.tar" . && mv "$cache/new.tar" "$cache/$suite-$name.tar"
    else
        tar -C "$root" -xf "$cache/$suite-$name.tar"
    fi
}

# inside ROOT [--as USER] COMMAND...: mounts and processes of the chroot end with the command
# pip there trusts what this system trusts, such as the certificate of a proxy.
inside() (
    root=$1 home=/root user=
    shift
    trusted=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
    [ ! -r "$trusted" ] || cp "$trusted" "$root/etc/certificates.crt"
    [ "$1" != --as ] || {
        home=/home/$2 user="setpriv --reuid=$2 --regid=$2 --init-groups"
        shift 2
    }
    # shellcheck disable=SC2086
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" env -i HOME=$home \
        PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy+http_proxy="$http_proxy"} \
        $([ ! -r "$trusted" ] || echo PIP_CERT=/etc/certificates.crt) $user "$@"
)
