#!/bin/sh
# Fails if a document links to a file that is not there, or names one in `code` that is not. Run in the root folder.
set -eu
export LC_ALL=C

bad=$(mktemp)
trap 'rm -f "$bad"' EXIT
find . \( -name target -o -name node_modules -o -name '.git' \) -prune -o -name '*.md' -print | sort |
while read -r document; do
    folder=$(dirname "$document")
    # [text](file) is relative to the document.
    grep -o '](\([^)]*\))' "$document" | sed 's/^](//; s/)$//; s/#.*//' |
        grep -v -e '^$' -e '^[a-z]*:' | sort -u |
        while read -r link; do
            [ -e "$folder/$link" ] || echo "$document: no file $link" >>"$bad"
        done || true
    # `folder/file.ending` is relative to the root or to the document; target/ holds what is built.
    grep -o '`[A-Za-z.][A-Za-z0-9_.-]*/[A-Za-z0-9_./-]*\.\(rs\|md\|sh\|py\|txt\|toml\|jpg\|png\)`' "$document" |
        tr -d '`' | grep -v '^target/' | sort -u |
        while read -r name; do
            [ -e "$name" ] || [ -e "$folder/$name" ] || echo "$document: no file $name" >>"$bad"
        done || true
done
cat "$bad" >&2
[ ! -s "$bad" ]
