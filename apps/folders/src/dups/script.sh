# Before a copy goes, both files are looked at again: regular files and no links, in folders that
# are reached without links, two different files, equal byte for byte. Anything else stays, and is
# named. Exit status: 0 all was done, 1 something stayed, 2 nothing was done.

LC_ALL=C
export LC_ALL
IFS=' '
set -f
did=0 stayed=0 absent=0 aside= from=

# Prints a message. A control character in a name must not reach the terminal.
say() {
  printf '%s' "$1" | tr '\001-\037\177' '?' >&2
  printf '\n' >&2
}

stays() { # FILE WHY
  stayed=$((stayed + 1))
  say "kept: $1: $2"
}

for tool in cmp ln ls mv rm tr; do
  command -v "$tool" >/dev/null 2>&1 && continue
  printf '%s\n' "this script needs the program $tool: nothing was done" >&2
  exit 2
done
if ! [ / -ef / ] || [ / -ef /dev ] || ! cmp -s /dev/null /dev/null ||
  printf 1 | cmp -s - /dev/null; then
  say "this shell's [ or cmp cannot compare files: nothing was done"
  exit 2
fi

# Whether FILE is a regular file and no link, in a folder that is reached without links.
real() { # FILE
  folder=${1%/*}
  at=$(cd -P -- "${folder:-/}" 2>/dev/null && pwd -P && echo .) || return 1
  [ "$at" = "${folder:-/}
." ] && [ -f "$1" ] && ! [ -L "$1" ]
}

# Whether nothing has this name.
free() { # FILE
  ! [ -e "$1" ] && ! [ -L "$1" ]
}

# Whether FILE still has the inode that it had; - if its file system does not keep them.
has_inode() { # INODE FILE
  [ "$1" = - ] && return
  inode=$1
  set -- $(ls -di -- "$2")
  [ "$1" = "$inode" ]
}

# Whether two files are different files with equal bytes.
equal() { # KEPT COPY
  real "$1" && [ -f "$2" ] && ! [ -L "$2" ] && ! [ "$1" -ef "$2" ] && cmp -s -- "$1" "$2"
}

# Whether two files are different files that both have the content that was compared.
as_seen() { # KEPT COPY SUM_OF_KEPT SUM_OF_COPY
  real "$1" && [ -f "$2" ] && ! [ -L "$2" ] && ! [ "$1" -ef "$2" ] && has_sum "$3" "$1" &&
    has_sum "$4" "$2"
}

has_sum() { # SUM FILE
  sum=$1
  set -- $(cksum <"$2")
  [ "$1 $2" = "$sum" ]
}

# Looks at a copy before anything is done with it.
is_there() { # INODE COPY
  if free "$2"; then
    absent=$((absent + 1))
    return 1
  fi
  real "$2" && has_inode "$1" "$2" && return
  stays "$2" "it is another file now, or a link leads there"
  return 1
}

# Gives a copy another name in its folder. If that takes the kept file away, too, both are one file.
set_aside() { # COPY
  aside=${1%/*}/nearkin-$$.aside
  if free "$aside"; then
    from=$1
    mv -- "$1" "$aside" && return
  fi
  stays "$1" "it cannot be renamed to $aside"
  aside=
  return 1
}

put_back() {
  [ -n "$aside" ] || return 0
  if [ -f "$aside" ]; then
    if free "$from" && mv -- "$aside" "$from"; then :; else say "the file is now: $aside"; fi
  fi
  aside=
}

trap put_back EXIT
trap 'exit 1' HUP INT PIPE TERM

remove_aside() {
  if rm -f -- "$aside"; then
    did=$((did + 1))
    aside=
  else
    put_back
    stays "$from" "it cannot be removed"
  fi
}

# Removes COPY, an exact copy of KEPT.
copy() { # INODE KEPT COPY
  is_there "$1" "$3" && set_aside "$3" || return
  if equal "$2" "$aside"; then
    remove_aside
  else
    put_back
    stays "$3" "no longer a copy of $2"
  fi
}

# Removes COPY, which differs from KEPT. The sums are those of the files that were compared.
near() { # INODE KEPT COPY SUM_OF_KEPT SUM_OF_COPY
  if ! command -v cksum >/dev/null 2>&1; then
    stays "$3" "this needs the program cksum"
    return
  fi
  is_there "$1" "$3" && set_aside "$3" || return
  if as_seen "$2" "$aside" "$4" "$5"; then
    remove_aside
  else
    put_back
    stays "$3" "this file or $2 has changed"
  fi
}

rights() { # FILE
  set -- $(ls -ldn -- "$1")
  printf '%s\n' "$1 $3 $4"
}

# Replaces COPY by a hard link to KEPT. The link gets its name in place of the copy in one step.
link() { # INODE KEPT COPY
  real "$2" && real "$3" && [ "$2" -ef "$3" ] && return
  is_there "$1" "$3" || return
  new=${3%/*}/nearkin-$$.link
  if ! equal "$2" "$3"; then
    stays "$3" "no longer a copy of $2"
  elif [ "$any_owner" = no ] && [ "$(rights "$2")" != "$(rights "$3")" ]; then
    stays "$3" "its owner or mode would change"
  elif ! free "$new" || ! ln -- "$2" "$new" 2>/dev/null; then
    stays "$3" "$2 cannot be linked there"
  elif ! [ -L "$new" ] && has_inode "$1" "$3" && mv -f -- "$new" "$3"; then
    did=$((did + 1))
  else
    rm -f -- "$new"
    stays "$3" "it cannot be replaced"
  fi
}

finish() {
  say "$did $what, $stayed kept, $absent not there any more"
  [ "$stayed" -eq 0 ] && exit 0
  exit 1
}

