#!/bin/sh
# embed.sh FOLDER OUTPUT writes the seed, its keys and the scenarios in FOLDER unchanged as raw strings in Swift source.
set -e
export LC_ALL=C # the order of the files
cd "$1"
{
    echo "/// The files of seed-data that are built in, by their paths there, in the order of the paths."
    echo "enum EmbeddedFiles {"
    echo "    static let all: [(path: String, text: StaticString)] = ["
    for file in default.json keys/* scenarios/*.json; do
        printf '("%s", ###"""\n' "$file"
        cat "$file"
        printf '\n"""###),\n'
    done
    echo "    ]"
    echo "}"
} > "$2.new"
if [ -f "$2" ] && [ "$(cat "$2")" = "$(cat "$2.new")" ]; then rm "$2.new"; else mv "$2.new" "$2"; fi
