#!/bin/sh
# check_docs.sh TACHO ROOT: the documents in the repository are what the program prints, and what it prints is well formed.
set -u
tacho=$1 root=$2 failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

complain() { echo "check_docs: $*" >&2; failed=1; }

"$tacho" docs metrics > "$work/metrics.md" || complain "tacho docs metrics failed"
if ! diff -u "$root/docs/metrics.md" "$work/metrics.md" >&2; then
  complain "docs/metrics.md is out of date; run: $tacho docs metrics > docs/metrics.md"
fi

# Printed by tacho-deliver, which not every build has.
if [ -x "$(dirname "$tacho")/tacho-deliver" ]; then
  "$tacho" bq columns > "$work/bigquery-columns.md" || complain "tacho bq columns failed"
  if ! diff -u "$root/docs/bigquery-columns.md" "$work/bigquery-columns.md" >&2; then
    complain "docs/bigquery-columns.md is out of date; run: $tacho bq columns > docs/bigquery-columns.md"
  fi
fi

"$tacho" docs completion-bash > "$work/tacho.bash" || complain "tacho docs completion-bash failed"
bash -n "$work/tacho.bash" || complain "the bash completion is not valid"
"$tacho" docs completion-zsh > "$work/_tacho" || complain "tacho docs completion-zsh failed"
if command -v zsh > /dev/null; then zsh -n "$work/_tacho" || complain "the zsh completion is not valid"; fi
"$tacho" docs completion-fish > "$work/tacho.fish" || complain "tacho docs completion-fish failed"
if command -v fish > /dev/null; then fish -n "$work/tacho.fish" || complain "the fish completion is not valid"; fi

"$tacho" docs man > "$work/tacho.1" || complain "tacho docs man failed"
if command -v groff > /dev/null; then
  groff -man -Tutf8 -ww -z "$work/tacho.1" 2> "$work/groff" || complain "groff cannot read the man page"
  if [ -s "$work/groff" ]; then cat "$work/groff" >&2; complain "groff warns about the man page"; fi
fi
exit $failed
