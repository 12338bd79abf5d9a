#!/bin/sh
# Shows what one Stepwell file can do, with the photograph of tests/data.
#
#     sh tests/demo.sh PROGRAM FOLDER
#
# PROGRAM is the stepwell program; everything is written into FOLDER. `make demo` calls this. Ends with an error as
# soon as a command fails or pixels are not what they have to be: `make test` runs it as a test.
set -eu
# Numbers with a point, whatever the language.
export LC_ALL=C

if [ $# -ne 2 ]; then
    echo "usage: sh tests/demo.sh PROGRAM FOLDER" >&2
    exit 2
fi
program=$1
out=$2
photo=$(dirname "$0")/data/photo.jpg
mkdir -p "$out"

title() {
    printf '\n== %s\n' "$1"
}

# Shows a command, then runs it.
run() {
    printf '$ stepwell %s\n' "$*"
    "$program" --quiet "$@"
}

# The number that a report of the program, on standard input, has under a name.
number() {
    sed -n "s/.*\"$1\": *\([0-9][0-9.e-]*\).*/\1/p" | head -n 1
}

# Bytes of a file.
size() {
    wc -c <"$1" | tr -d ' '
}

fail() {
    echo "demo: $1" >&2
    exit 1
}

title "A photograph becomes one file, without loss"
run encode "$photo" -o "$out/photo.swl"
run info "$out/photo.swl"

title "Any size and region of it: what had to be read, and how long that and decoding took"
all=$(size "$out/photo.swl")
row() {
    printf '%-28s %12s %11s %9s %8s\n' "$@"
}
# One line of the table: what it is called, the picture to write, the options that ask for it.
part() {
    name=$1
    picture=$2
    shift 2
    report=$("$program" --quiet decode "$out/photo.swl" -o "$out/$picture" --json "$@")
    width=$(echo "$report" | number width)
    height=$(echo "$report" | number height)
    bytes=$(echo "$report" | number bytes_read)
    seconds=$(echo "$report" | number decode_seconds)
    share=$(awk "BEGIN { printf \"%.1f %%\", 100 * $bytes / $all }")
    time=$(awk "BEGIN { printf \"%.1f ms\", 1000 * $seconds }")
    row "$name" "$width x $height" "$bytes" "$share" "$time"
}
row "decode photo.swl" pixels "bytes read" "of $all" time
part "--loq 0" loq0.png --loq 0
part "--loq 1" loq1.png --loq 1
part "--loq 2" loq2.png --loq 2
part "--loq 3" loq3.png --loq 3
part "--loq 4" loq4.png --loq 4
part "--region 192,64,512,384" region.png --region 192,64,512,384
part "the same, --loq 1" region1.png --region 192,64,512,384 --loq 1

title "The start of the file is a file of its own"
# The column of `info` that says how many bytes from the start a LoQ takes.
prefix=$("$program" info "$out/photo.swl" | awk '$1 == 2 && $3 == "×" { print $5 }')
dd if="$out/photo.swl" of="$out/start.swl" bs="$prefix" count=1 2>/dev/null
echo "start.swl: the first $prefix bytes of photo.swl, as a download that stops there leaves them"
run decode "$out/start.swl" -o "$out/start.png" --loq 2
cmp "$out/loq2.png" "$out/start.png" || fail "the start of the file decodes to something else"
echo "start.png and loq2.png are the same"

title "A smaller size as a file of its own, copied without coding anew"
run extract "$out/photo.swl" -o "$out/small.swl" --loq 2
run verify "$out/photo.swl" "$out/small.swl"
run compare "$out/loq2.png" "$out/small.swl" | tee "$out/compare.txt"
grep -q '^all .*identical' "$out/compare.txt" || fail "the extracted file has other pixels"

title "Is it lossless?"
run compare "$photo" "$out/photo.swl" | tee "$out/compare.txt"
grep -q '^all .*identical' "$out/compare.txt" || fail "the photograph did not come back"

title "Lossy: the best that fits into 150 kB"
run transcode "$out/photo.swl" -o "$out/lossy.swl" --size 150k
run compare "$out/photo.swl" "$out/lossy.swl"
rm "$out/compare.txt"

title "Bytes of the whole picture"
bytes() {
    printf '%9s  %s\n' "$(size "$1")" "$2"
}
bytes "$photo" "photo.jpg, which all this started from: it is lossy, and what it lost is lost"
bytes "$out/loq0.png" "the same pixels as PNG, written fast"
bytes "$out/photo.swl" "the same pixels as photo.swl"
bytes "$out/lossy.swl" "lossy.swl"

title "Where to look"
echo "$out: loq0.png to loq4.png, region.png, region1.png; photo.swl, small.swl, lossy.swl"
