#!/bin/sh
# embed.sh FOLDER OUTPUT: the scripts in FOLDER as Swift source, a constant each, in raw strings.
set -e
export LC_ALL=C # the order of the files
cd "$1"
{
    echo "/// The scripts of pages, by their files' names."
    echo "enum Scripts {"
    for file in *.js; do
        printf 'static let %s: StaticString = ###"""\n' "${file%.js}"
        cat "$file"
        printf '"""###\n'
    done
    echo "}"
} > "$2.new"
if [ -f "$2" ] && [ "$(cat "$2")" = "$(cat "$2.new")" ]; then rm "$2.new"; else mv "$2.new" "$2"; fi
