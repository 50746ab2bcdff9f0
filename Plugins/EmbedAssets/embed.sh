#!/bin/sh
# embed.sh FOLDER OUTPUT REPOSITORY writes each of the scripts, style sheets and texts in FOLDER as a Swift constant
# with a raw string. It does the same for the files of the repository that match a line of the file "documents" in
# FOLDER.
set -e
export LC_ALL=C # the order of the files
cd "$1"
texts() { # SUFFIX
    for file in *."$1"; do
        [ -f "$file" ] || continue
        printf 'static let %s: StaticString = ###"""\n' "${file%."$1"}"
        cat "$file"
        printf '"""###\n'
    done
}
constants() { # TYPE SUFFIX
    echo "enum $1 {"
    texts "$2"
    printf 'static let all: [(name: String, text: StaticString)] = ['
    for file in *."$2"; do
        [ ! -f "$file" ] || printf '("%s", %s), ' "${file%."$2"}" "${file%."$2"}"
    done
    echo "]"
    echo "}"
}
{
    echo "/// The scripts of pages, by their files' names."
    constants Scripts js
    echo "/// The style sheets of pages, by their files' names."
    constants StyleSheets css
    echo "/// Texts: documents that are answers, tables, and guides, by their files' names."
    echo "enum Texts {"
    for suffix in json md tsv; do texts "$suffix"; done
    echo "}"
    if [ -f documents ]; then
        echo "/// Files of the repository, by their paths."
        echo "enum EmbeddedDocuments {"
        echo "static let all: [(path: String, text: StaticString)] = ["
        patterns=$(cat documents)
        cd "$3"
        for file in $patterns; do
            printf '("%s", ###"""\n' "$file"
            cat "$file"
            printf '\n"""###),\n'
        done
        echo "]"
        echo "}"
    fi
} > "$2.new"
if [ -f "$2" ] && [ "$(cat "$2")" = "$(cat "$2.new")" ]; then rm "$2.new"; else mv "$2.new" "$2"; fi
