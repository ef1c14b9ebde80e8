#!/bin/sh
# The plans of `nearkin dups` against hostile names, mounts, links that appear later, a full disk and
# kills.
#
#   unshare -m sandbox.sh NEARKIN
#
# Carries out plans by `nearkin apply`. Nothing may be lost: every content that was there before is
# there afterwards, and `du` shrinks by exactly the bytes that `dups` promises. Mounts are seen in
# this namespace only. Prints `passed`, or what went wrong, with status 1; status 77 if nothing can be
# mounted here.
set -eu
nearkin=$1
top=$(mktemp -d)
cd "$top"
export XDG_CACHE_HOME="$top/cache" XDG_DATA_HOME="$top/data"
mount -t tmpfs -o mode=700 sandbox "$top" 2>/dev/null || exit 77
cd "$top"
mkdir cache

fail() {
  printf 'FAILED: %s\n' "$1"
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

# Carries out a plan; that must end with a status, or with `any`.
run() { # STATUS PLAN OPTION...
  wanted=$1 status=0
  shift
  "$nearkin" apply "$@" --json >did 2>said || status=$?
  [ "$wanted" = any ] || [ "$status" = "$wanted" ] || fail "apply $* ended with $status, not $wanted"
}

same_contents() {
  contents >after
  [ -z "$(comm -23 before after)" ] || fail "$1: contents were lost"
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
  rm -rf fs ram outside ./*.journal
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
" ram --exact --plan plan
before_bytes=$(taken)
ram_bytes=$(du -s -B1 ram | cut -f1)
run 0 plan --delete
same_contents delete
freed=$((before_bytes + ram_bytes - $(taken) - $(du -s -B1 ram | cut -f1)))
[ "$freed" = "$(promised exact)" ] || fail "freed $freed, promised $(promised exact)"
[ "$freed" -gt 300000 ] || fail "only $freed freed"
grep -q "\"bytes_freed\":$freed," did || fail "said another number than $freed: $(cat did)"
[ -f fs/a/only-once ] && [ -f again/only-once ] || fail "the only file is gone"
dups $searched ram --exact
[ "$(promised exact)" = 0 ] || fail "a second run promises $(promised exact)"
[ "$(count fs/b* ram)" = 0 ] || fail "copies are left"
[ ! -e data ] || fail "there is a trash"

# Each file goes to the trash of its own mount, and all come back.
list() {
  find fs ram -name .Trash-\* -prune -o -type f -print0 | sort -z | xargs -0 sha256sum -z
}
fill
dups $searched "$hostile
" ram --exact --plan plan
list >all
run 0 plan
same_contents trash
[ "$(count fs/b/ "$folder" ram/copy 2>/dev/null)" = 0 ] || fail "copies are left"
[ "$(count ram/.Trash-*/files)" = 1 ] || fail "another trash than that of the mount"
[ "$(count fs/.Trash-*/files)" = "$(count fs/.Trash-*/info)" ] || fail "files without notes"
rm plan.old 2>/dev/null || :
run 0 plan --undo
list | cmp -s - all || fail "not all came back"
[ "$(count fs/.Trash-*)" = 0 ] || fail "something is left in the trash"
# The trash of the user is taken if it is on the same file system, and no other one is made.
mkdir here
echo same >here/a && cp here/a here/b
dups here --exact --plan plan
run 0 plan
[ "$(count here data/Trash/files)" = 2 ] && [ ! -e ".Trash-$(id -u)" ] || fail "not in the user's trash"
rm -r here data
# A trash that is a link is none; nor is that of another user.
for kind in link owner; do
  fill
  dups fs/a fs/b --exact --plan plan
  if [ $kind = link ]; then ln -s ../outside "fs/.Trash-$(id -u)"; else
    mkdir "fs/.Trash-$(id -u)" && chown 4321 "fs/.Trash-$(id -u)" 2>/dev/null || continue
  fi
  run 3 plan
  same_contents "the trash is a $kind"
  [ "$(count fs/b)" = 44 ] && [ "$(count outside)" = 0 ] || fail "moved to a trash that is a $kind"
done

fill
dups $searched ram --exact --link --plan link
before_bytes=$(taken)
run 0 link
same_contents link
freed=$((before_bytes - $(taken)))
[ "$freed" = "$(promised exact)" ] || fail "links freed $freed, promised $(promised exact)"
[ "$freed" -gt 150000 ] || fail "links freed only $freed"
[ fs/a/linked -ef fs/b/linked-2 ] && [ -f ram/copy ] || fail "not linked, or linked across"
[ "$(find fs -name '.nearkin-*' | wc -l)" = 0 ] || fail "a link is left over"
dups $searched ram --exact --link --plan again.plan
[ "$(promised exact)" = 0 ] || fail "a second run promises $(promised exact) by links"

# A plan for one file system, when the folder of the copies has moved to another one.
fill
dups fs/a fs/b --exact --link --plan link
sed -i 's/\t[0-9]*:[0-9]*:\([0-9]*\)$/\t-:-:\1/' link
cp -a fs/b ram/b && rm -r fs/b && mkdir fs/b && mount --bind ram/b fs/b
contents >before
run 3 link
umount fs/b
same_contents "link across devices"
[ "$(count ram/b)" = 44 ] || fail "a copy was removed instead of linked"
grep -q 'cannot be linked there' said || fail "linked across devices"

# Links and other files appear after the plan was made: whatever it does, nothing is lost.
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
  set_name 15
  rm "fs/b/$named" && mkfifo "fs/b/$named"
  contents >before
}

# What spoil changed is not what was compared, even where the content is the same.
nothing_else_is_gone() {
  for n in 8 9 10 13 14; do
    set_name $n
    [ "$(stat -c %i "fs/b/$named")" = "$(cat inode-$n)" ] || fail "$1: copy $n is gone"
  done
  set_name 15
  [ -p "fs/b/$named" ] || fail "$1: a pipe is gone"
}
for kind in trash delete link; do
  option=--no-cache
  [ $kind != link ] || option=--link
  way=--$kind
  fill
  dups fs/a fs/b ram --exact $option --plan spoiled
  spoil
  for n in 8 9 10 13 14; do
    set_name $n
    stat -c %i "fs/b/$named" >inode-$n
  done
  run 3 spoiled $way
  nothing_else_is_gone $kind
  same_contents "$kind after links were put in place"
  # The folder of the copies is now a link to the folder that stays.
  fill
  dups fs/a fs/b --exact $option --plan spoiled
  mv fs/b fs/moved && ln -s a fs/b
  run 3 spoiled $way
  same_contents "$kind after a folder became a link"
  [ "$(count fs/a)" = 44 ] || fail "$kind: a kept file is gone"
  # It is a link to a folder that was not searched, and inode numbers do not last.
  fill
  dups fs/a fs/b --exact $option --plan spoiled
  sed -i 's/\t[0-9]*:[0-9]*:\([0-9]*\)$/\t-:-:\1/' spoiled
  cp -a fs/b outside/b && rm -r fs/b && ln -s "$top/outside/b" fs/b
  find outside/b -type f -exec stat -c %i {} + | sort >inodes
  run 3 spoiled $way
  find outside/b -type f -exec stat -c %i {} + | sort | cmp -s - inodes ||
    fail "$kind: a file that was not searched is gone"
  # The folder that stays is now a link to the folder of the copies.
  fill
  dups fs/a fs/b --exact $option --plan spoiled
  umount again
  rm -r fs/a && ln -s b fs/a
  contents >before
  run 3 spoiled $way
  same_contents "$kind after the kept folder became a link"
  # Another mount lies over the folder of the copies: the folder that stays, or a reference folder.
  for identity in known unknown; do
    fill
    cp -a fs/a fs/reference
    dups fs/b --against fs/reference --exact $option --plan spoiled
    [ $identity = known ] || sed -i 's/\t[0-9]*:[0-9]*:\([0-9]*\)$/\t-:-:\1/' spoiled
    mount --bind fs/reference fs/b
    run any spoiled $way
    umount fs/b
    [ "$(count fs/reference)" = 44 ] || fail "$kind: a reference was removed"
  done
done

# A copy that is a second way to the kept file, in spite of another device number: the kept file
# vanishes with it, and is brought back.
for way in --delete --trash; do
  fill
  mkdir fs/lower fs/upper fs/work union
  cp fs/a/only-once fs/upper/kept
  if mount -t overlay -o lowerdir=fs/lower,upperdir=fs/upper,workdir=fs/work overlay union 2>/dev/null; then
    dups fs/upper union --exact --plan union.plan
    grep -q '^remove' union.plan || fail "the second way is no copy: this tests nothing"
    run 3 union.plan $way
    grep -q 'both are one file' said || fail "another reason than the union"
    umount union
    [ -f fs/upper/kept ] || fail "a second way to the kept file was removed"
    same_contents "union $way"
  else
    echo "SKIPPED: no overlay can be mounted here"
  fi
  rm -rf union
done

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
dups fs/a fs/b ram --plan near
grep -q '^# remove	' near || fail "no near-copies"
run 0 near --delete
same_contents "near-copies that are switched off"
sed -i 's/^# remove	/remove	/' near
set_name 6
content changed >>"fs/b/$named"
set_name 7
content changed >>"fs/a/$named"
# The same length and time, and another content: of the near-copy, and of the kept file.
forge() { # FOLDER
  touch -r "$1/$named" time && tr o O <"$1/$named" >new && cat new >"$1/$named"
  touch -r time "$1/$named"
}
set_name 16
forge fs/b
set_name 17
forge fs/a
contents >before
run 3 near --delete
for n in 6 7 16 17; do
  set_name $n
  [ -f "fs/b/$named" ] && [ -f "fs/a/$named" ] || fail "a changed near-copy was removed"
done
[ "$(count fs/a)" = 44 ] || fail "a kept file of a near-copy is gone"
set_name 12
[ ! -e "fs/b/$named" ] || fail "a near-copy was not removed"

# A full disk: the plan lies on it, or the trash.
fill
dups fs/a fs/b --exact --plan fs/plan
mount -o remount,size=$(($(taken) / 1024 + 64))k fs
cat /dev/zero >fs/filler 2>/dev/null || :
run any fs/plan --delete
same_contents "a full disk with the plan"
[ "$status" = 0 ] || [ "$status" = 2 ] || fail "a full disk with the plan: $status"
cp fs/plan plan
run any plan
same_contents "a full disk with the trash"
run 0 plan --delete
same_contents "a full disk"
[ "$(count fs/b)" -le 1 ] || fail "copies are left on a full disk"

# Killed at any moment: the next run continues.
for way in --delete --trash --link; do
  fill
  dups fs/a fs/b ram --exact --plan killed
  rm -f killed.journal
  tries=0
  while [ $tries -lt 25 ]; do
    "$nearkin" apply killed $way >/dev/null 2>&1 &
    child=$!
    sleep 0.00$((tries % 9 + 1))
    kill -9 $child 2>/dev/null || :
    wait $child 2>/dev/null || :
    same_contents "killed $way"
    tries=$((tries + 1))
  done
  run any killed $way
  same_contents "killed $way"
  [ "$(find fs -name '.nearkin-*' | wc -l)" = 0 ] || fail "$way: a killed run left a name"
  if [ $way = --link ]; then
    [ fs/a/linked -ef fs/b/linked-1 ] || fail "a killed run did not go on"
  else
    [ "$(count fs/b)" = 0 ] || fail "$way: copies are left after kills"
  fi
  [ $way != --trash ] || run 0 killed --undo
  [ $way != --trash ] || [ "$(count fs/b)" = 44 ] || fail "not all came back after kills"
done

umount -l again fs ram 2>/dev/null || :
echo passed
