import Inspector
import JSON
import ModelContextProtocol

extension DaemonTools {
    private struct Search: SchemaObject {
        let query: String
        let limit: Int

        init(_ fields: inout Fields) {
            query = fields("query", .text(.nonEmpty), "A few words, all of which have to occur.")
            limit = fields("limit", .integer(1...20), default: 6, "How many sections at most.")
        }
    }

    var searchDocumentation: Tool {
        let schema = Schema.answer([
            .required("found", .count, "How many sections were found."),
            .required(
                "sections",
                .sequence(
                    of: .members([
                        .required("page", .string, "The page."),
                        .required("section", .string, "The section's heading."),
                        .required("excerpt", .string, "The lines with the words."),
                    ])), "The first sections."),
        ])
        return Tool(
            "search_documentation", title: "Search the documentation", .reads,
            "Finds sections of Understudy's documentation: how to point a library, an app or a test at it, what each provider refuses, "
                + "what seeds can hold, how to order faults. Read one with read_documentation.",
            arguments: Search.self, answers: schema
        ) { search, _ throws(ToolFailure) in
            let words = search.query.lowercased().split { $0.isWhitespace }.prefix(10).map(String.init)
            let scored = Manual.names.flatMap { ManualSection.all(of: $0) }.map { ($0, $0.score(words)) }
            let found = scored.filter { $0.1 > 0 }.sorted { ($1.1, $0.0.page) < ($0.1, $1.0.page) }
            let shown = found.prefix(search.limit).map { section, _ -> JSONValue in
                [
                    "page": .string(section.page), "section": .string(section.heading),
                    "excerpt": .string(section.excerpt(words, limit: 600)),
                ]
            }
            return .object(
                try AnswerSize.fitted(
                    JSONObject([("found", .integer(Int64(found.count))), ("sections", .array(Array(shown)))]), schema))
        }
    }

    private struct Reading: SchemaObject {
        let page: String
        let section: String?
        let offset: Int

        init(_ fields: inout Fields) {
            page = fields("page", .text(.nonEmpty), "The page, as search_documentation names it, such as \"orders\".")
            section = fields.optional("section", .text(.nonEmpty), "Only the section under this heading.")
            offset = fields(
                "offset", .integer(0...1_000_000), default: 0, "How many characters to leave out, to read on.")
        }
    }

    /// The greatest number of characters of a documentation page in one answer.
    private static let readLimit = 12_000

    var readDocumentation: Tool {
        Tool(
            "read_documentation", title: "Read the documentation", .reads,
            "A page of Understudy's documentation, or a section of it, as Markdown.", arguments: Reading.self,
            answers: nil
        ) { reading, _ throws(ToolFailure) in
            guard var text = Documents.text(reading.page) else {
                let names = Manual.names.joined(separator: ", ")
                let hint = Spelling.hint(reading.page, among: Manual.names)
                throw ToolFailure(
                    "no page \"\(BoundedText.shortened(reading.page, to: 100))\"\(hint); there are \(names)")
            }
            if let heading = reading.section {
                let sections = ManualSection.all(of: reading.page)
                guard let section = sections.first(where: { $0.heading.lowercased() == heading.lowercased() }) else {
                    let known = sections.map { "\"\($0.heading)\"" }.joined(separator: ", ")
                    throw ToolFailure("the page \(reading.page) has no section \"\(heading)\", but \(known)")
                }
                text = section.text
            }
            let rest = text.dropFirst(reading.offset)
            let shown = rest.prefix(DaemonTools.readLimit)
            guard shown.endIndex < rest.endIndex else { return .text(String(shown)) }
            return .text("\(shown)\n\n(It goes on: read with offset \(reading.offset + DaemonTools.readLimit).)")
        }
    }
}
