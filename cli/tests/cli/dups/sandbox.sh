#!/bin/sh
# The scripts of `nearkin dups` against hostile names, mounts and links that appear later.
#
#   unshare -m sandbox.sh NEARKIN 'SHELL'      for example: unshare -m sandbox.sh nearkin 'busybox sh'
#
# Runs the scripts with SHELL. With busybox, all programs that a script calls are busybox's. Nothing
# may be lost: every content that was there before is there afterwards, and `du` shrinks by exactly
# the bytes that `dups` promises. Mounts are seen in this namespace only. Prints `passed`, or what
# went wrong, with status 1; status 77 if nothing can be mounted here.
set -eu
nearkin=$1 shell=$2
top=$(mktemp -d)
cd "$top"
export XDG_CACHE_HOME="$top/cache"
mount -t tmpfs -o mode=700 sandbox "$top" 2>/dev/null || exit 77
cd "$top"
mkdir cache programs
path=$PATH
case $shell in
  busybox*)
    busybox --install -s programs
    # BusyBox may lack cksum.
    ln -sf "$(command -v cksum)" "$(command -v busybox)" programs/
    path=$top/programs
    ;;
esac

fail() {
  printf 'FAILED with %s: %s\n' "$shell" "$1"
  [ ! -f said ] || head -n 20 said
  exit 1
}

# Each content once, whatever its files are called.
contents() {
  find fs ram outside -type f -exec sha256sum {} + | sed 's/^\\//' | cut -c1-64 | sort -u
}

taken() {
  du -s -B1 fs | cut -f1
}

count() { # FOLDER...
  find "$@" -type f -exec printf x \; | wc -c
}

promised() { # KIND
  sed -n "\$s/.*\"$1_bytes_freed\":\\([0-9]*\\).*/\\1/p" answer
}

dups() {
  "$nearkin" dups --json "$@" >answer 2>said || fail "dups $* ended with $?"
}

# Runs a script, which must end with a status, or with `any`.
run() { # STATUS SCRIPT
  status=0
  (PATH=$path && exec $shell "./$2") >said 2>&1 || status=$?
  [ "$1" = any ] || [ "$status" = "$1" ] || fail "$2 ended with $status, not $1"
}

same_contents() {
  contents >after
  cmp -s before after || fail "$1: contents were lost"
  [ ! -e PWNED ] && [ ! -e fs/PWNED ] || fail "$1: a name was run as a command"
}

# 40 names that shells, programs and people stumble over, one for each call.
name() { # NUMBER
  case $1 in
    0) printf 'new\nline' ;; 1) printf '\nfirst' ;; 2) printf 'last\n\n' ;; 3) printf ' ' ;;
    4) printf '  two  blanks  ' ;; 5) printf 'tab\there' ;; 6) printf "it's" ;; 7) printf '"' ;;
    8) printf '$(touch PWNED)' ;; 9) printf '`touch PWNED`' ;; 10) printf -- '-rf' ;;
    11) printf -- '--' ;; 12) printf '*' ;; 13) printf '?' ;; 14) printf '[a-z]' ;;
    15) printf '{a,b}' ;; 16) printf '~' ;; 17) printf '#' ;; 18) printf '!' ;; 19) printf '\\' ;;
    20) printf 'ends with \\' ;; 21) printf '\\n' ;; 22) printf '%%s%%n' ;; 23) printf ';ls' ;;
    24) printf '&' ;; 25) printf '|cat' ;; 26) printf '>PWNED' ;; 27) printf '<x' ;;
    28) printf '$HOME' ;; 29) printf "'\\\\''" ;; 30) printf '\377\376' ;; 31) printf '\201\202\210' ;;
    32) printf '\001\177' ;; 33) printf '\033[2J' ;; 34) printf '\342\200\256txt' ;;
    35) printf '(1)' ;; 36) printf 'a=b' ;; 37) printf '\r' ;; 38) printf '%0240d' 7 ;;
    39) printf 'nearkin-0.aside' ;;
  esac
}

# Sets `named` to a name; the command substitution would drop line feeds at its end.
set_name() {
  named=$(name "$1" && echo .)
  named=${named%.}
}

content() { # NUMBER
  i=0
  while [ $i -lt 60 ]; do
    printf 'content %s word%s%s\n' "$1" "$1" "$i"
    i=$((i + 1))
  done
}

# fs/a: one file of each name; fs/b, and a folder with a hostile name: copies of each.
fill() {
  umount -l "$top/again" 2>/dev/null || :
  umount -l "$top/fs" "$top/ram" 2>/dev/null || :
  rm -rf fs ram outside
  mkdir -p fs ram outside again
  mount -t tmpfs sandbox fs && mount -t tmpfs sandbox ram
  folder=$(printf 'fs/b\n/c d')
  mkdir -p fs/a fs/b "$folder"
  n=0
  while [ $n -lt 40 ]; do
    set_name $n
    content $n >"fs/a/$named"
    cp "fs/a/$named" "fs/b/$named"
    cp "fs/a/$named" "$folder/$named"
    n=$((n + 1))
  done
  content only >fs/a/only-once
  # A copy with two names; and one with a name that no folder to search has.
  content linked >fs/a/linked
  cp fs/a/linked fs/b/linked-1
  ln fs/b/linked-1 fs/b/linked-2
  content kept-by-link >fs/a/kept-by-link
  cp fs/a/kept-by-link fs/b/kept-by-link
  mkdir fs/elsewhere
  ln fs/b/kept-by-link fs/elsewhere/name
  # Holes take no space.
  truncate -s 3000000 fs/a/holes fs/b/holes
  content 0 >ram/copy
  mount --bind fs/a again
  contents >before
}

searched="fs/a fs/b again"
hostile=$(printf 'fs/b\n')

fill
dups $searched "$hostile
" ram --exact --script remove.sh
before_bytes=$(taken)
ram_bytes=$(du -s -B1 ram | cut -f1)
run 0 remove.sh
same_contents remove
freed=$((before_bytes + ram_bytes - $(taken) - $(du -s -B1 ram | cut -f1)))
[ "$freed" = "$(promised exact)" ] || fail "freed $freed, promised $(promised exact)"
[ "$freed" -gt 300000 ] || fail "only $freed freed"
[ -f fs/a/only-once ] && [ -f again/only-once ] || fail "the only file is gone"
dups $searched ram --exact
[ "$(promised exact)" = 0 ] || fail "a second run promises $(promised exact)"
[ "$(count fs/b* ram)" = 0 ] || fail "copies are left"

fill
dups $searched ram --exact --link --script link.sh
before_bytes=$(taken)
run 0 link.sh
same_contents link
freed=$((before_bytes - $(taken)))
[ "$freed" = "$(promised exact)" ] || fail "links freed $freed, promised $(promised exact)"
[ "$freed" -gt 150000 ] || fail "links freed only $freed"
[ fs/a/linked -ef fs/b/linked-2 ] && [ -f ram/copy ] || fail "not linked, or linked across"
[ "$(find fs/b -name '*' -type f | grep -c nearkin-.*link)" = 0 ] || fail "a link is left over"
dups $searched ram --exact --link --script again.sh
[ "$(promised exact)" = 0 ] || fail "a second run promises $(promised exact) by links"

# The script for one file system, when the folder of the copies has moved to another one.
fill
dups fs/a fs/b --exact --link --script link.sh
mv fs/b ram/b && mkdir fs/b && mount --bind ram/b fs/b
contents >before
run 1 link.sh
umount fs/b
same_contents "link across devices"
[ "$(count ram/b)" = 44 ] || fail "a copy was removed instead of linked"

# Links and other files appear after the script was written: whatever it does, nothing is lost.
spoil() {
  rm fs/a/linked && ln -s ../b/linked-1 fs/a/linked
  mv fs/a/kept-by-link outside/ && ln -s "$top/fs/b/kept-by-link" fs/a/kept-by-link
  set_name 8
  content changed >"fs/b/$named"
  set_name 9
  rm "fs/a/$named" && ln "fs/b/$named" "fs/a/$named"
  set_name 10
  content another >new && mv new "fs/b/$named"
  set_name 11
  rm "fs/b/$named" && ln -s "../a/$named" "fs/b/$named"
  set_name 12
  rm "fs/b/$named" && mkdir "fs/b/$named"
  set_name 13
  mv "fs/a/$named" outside/kept && ln -s "$top/outside/kept" "fs/a/$named"
  set_name 14
  cp "fs/b/$named" new && mv new "fs/b/$named"
  contents >before
}

# What spoil changed is not what was compared, even where the content is the same.
nothing_else_is_gone() {
  for n in 8 9 10 13 14; do
    set_name $n
    [ "$(stat -c %i "fs/b/$named")" = "$(cat inode-$n)" ] || fail "$1: copy $n is gone"
  done
}
for kind in remove link; do
  option=--no-cache
  [ $kind = remove ] || option=--link
  fill
  dups fs/a fs/b ram --exact $option --script spoiled.sh
  spoil
  for n in 8 9 10 13 14; do
    set_name $n
    stat -c %i "fs/b/$named" >inode-$n
  done
  run 1 spoiled.sh
  nothing_else_is_gone $kind
  same_contents "$kind after links were put in place"
  # The folder of the copies is now a link to the folder that stays.
  fill
  dups fs/a fs/b --exact $option --script spoiled.sh
  mv fs/b fs/moved && ln -s a fs/b
  run 1 spoiled.sh
  same_contents "$kind after a folder became a link"
  [ "$(count fs/a)" = 44 ] || fail "$kind: a kept file is gone"
  # It is a link to a folder that was not searched, and inode numbers do not last.
  fill
  dups fs/a fs/b --exact $option --script spoiled.sh
  sed -i -E 's/^(copy|link) [0-9]+ /\1 - /' spoiled.sh
  mv fs/b outside/b && ln -s "$top/outside/b" fs/b
  find outside/b -type f -exec stat -c %i {} + | sort >inodes
  run 1 spoiled.sh
  find outside/b -type f -exec stat -c %i {} + | sort | cmp -s - inodes ||
    fail "$kind: a file that was not searched is gone"
  # The folder that stays is now a link to the folder of the copies.
  fill
  dups fs/a fs/b --exact $option --script spoiled.sh
  umount again
  rm -r fs/a && ln -s b fs/a
  contents >before
  run 1 spoiled.sh
  same_contents "$kind after the kept folder became a link"
  # Another mount lies over the folder of the copies: the folder that stays, or a reference folder.
  fill
  cp -a fs/a fs/reference
  dups fs/b --against fs/reference --exact $option --script spoiled.sh
  mount --bind fs/reference fs/b
  run any spoiled.sh
  umount fs/b
  [ "$(count fs/reference)" = 44 ] || fail "$kind: a reference was removed"
done

# A copy that is a second way to the kept file, in spite of another device number: the kept file
# vanishes with it, and the script brings it back.
fill
mkdir fs/u fs/v union
cp fs/a/only-once fs/u/kept
cp fs/a/only-once fs/v/way
dups fs/u fs/v --exact --script union.sh
cat >union/mv <<'END'
#!/bin/sh
# Renames the kept file with the copy, as a union mount does.
if [ "$2" = "$COPY" ]; then
  "$MV" "$KEPT" "$KEPT.gone"
else
  "$MV" "$KEPT.gone" "$KEPT"
fi
exec "$MV" "$@"
END
chmod +x union/mv
MV=$(command -v mv) KEPT=$top/fs/u/kept COPY=$top/fs/v/way
export MV KEPT COPY
case $shell in
  busybox*) ;; # calls its own mv
  *)
    path=$top/union:$PATH
    run 1 union.sh
    path=$PATH
    [ -f fs/v/way ] && [ -f fs/u/kept ] || fail "a second way to the kept file was removed"
    ;;
esac

# Near-copies: switched off at first; then only if both files are what was compared.
fill
n=0
while [ $n -lt 40 ]; do
  set_name $n
  printf 'one more line\n' >>"fs/b/$named"
  rm "$folder/$named"
  n=$((n + 1))
done
contents >before
dups fs/a fs/b ram --script near.sh
grep -q '^: near ' near.sh || fail "no near-copies"
run 0 near.sh
same_contents "near-copies that are switched off"
sed -i 's/^: near /near /' near.sh
set_name 6
content changed >>"fs/b/$named"
set_name 7
content changed >>"fs/a/$named"
contents >before
run 1 near.sh
for n in 6 7; do
  set_name $n
  [ -f "fs/b/$named" ] && [ -f "fs/a/$named" ] || fail "a changed near-copy was removed"
done
[ "$(count fs/a)" = 44 ] || fail "a kept file of a near-copy is gone"
set_name 12
[ ! -e "fs/b/$named" ] || fail "a near-copy was not removed"

# Without cmp, nothing is done.
fill
dups fs/a fs/b --exact --script remove.sh
mkdir few
for program in sh cksum ln ls mv rm tr; do
  ln -s "$(command -v $program)" few/$program
done
path=$top/few
case $shell in
  busybox*) ;;  # busybox always has it
  *)
    status=0
    "$(command -v ${shell%% *})" -c 'PATH=$1; . "$2"' sh "$path" ./remove.sh >said 2>&1 || status=$?
    [ $status = 2 ] && grep -q 'needs the program cmp' said || fail "without cmp: $status"
    same_contents "without cmp"
    [ -f fs/b/linked-2 ] || fail "without cmp, copies are gone"
    ;;
esac

umount -l again fs ram 2>/dev/null || :
echo passed
