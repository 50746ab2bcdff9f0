import Foundation
import JSON
import TestSupport
import Testing

@testable import Assistants

@Suite("Assistants look things up")
struct DocumentationToolTests {
    private let assistant = Assistant(url: "http://127.0.0.1:1")

    @Test("sections are found by all words, those whose headings have them first")
    func search() throws {
        let found = try assistant.ask("search_documentation", ["query": "Faults MAIL"])
        #expect(found["sections"]?.array?.first?["page"]?.string == "orders")
        #expect(found["sections"]?.array?.first?["section"]?.string == "Faults of mail")
        #expect(try assistant.ask("search_documentation", ["query": "clock zzzzz"])["found"]?.integer == 0)
    }

    @Test("a page is read whole, by its sections, and piece by piece")
    func read() throws {
        let section = try assistant.call("read_documentation", ["page": "orders", "section": "time"])
        #expect(section.text.hasPrefix("## Time\n") && !section.text.contains("## People"))
        #expect(try assistant.refusal("read_documentation", ["page": "orders", "section": "no"]).contains("\"Time\""))
        let unknown = try assistant.refusal("read_documentation", ["page": "order"])
        #expect(unknown.contains("did you mean \"orders\"?") && unknown.hasSuffix("worlds"))
        let page = try Repository.read("docs/seed.md")
        let first = try assistant.call("read_documentation", ["page": "seed"]).text
        #expect(first.hasSuffix("(It goes on: read with offset 12000.)"))
        #expect(page.hasPrefix(first.prefix(12_000)))
        let next = try assistant.call("read_documentation", ["page": "seed", "offset": 12_000]).text
        #expect(page.dropFirst(12_000).hasPrefix(next.prefix(12_000)))
        #expect(try assistant.call("read_documentation", ["page": "seed", "offset": 1_000_000]).text.isEmpty)
    }

    @Test("every page is a resource, and is as it was written")
    func resources() throws {
        let list = try assistant.message(assistant.send("resources/list", [:]))["result"]?["resources"]?.array ?? []
        #expect(list.count == Manual.names.count && list.count > 15)
        let read = try assistant.message(assistant.send("resources/read", ["uri": "understudy://docs/errors/apple"]))
        let contents = read["result"]?["contents"]?.array?.first
        #expect(contents?["text"]?.string?.hasPrefix(try Repository.read("docs/errors/apple.md")) == true)
    }

    @Test("an error is found by its name in any case, and advice is given where there is none")
    func errors() throws {
        let found = try assistant.ask("explain_error", ["error": "INVALID_GRANT"])
        #expect(found["errors"]?.array?.contains { $0["provider"]?.string == "apple" } == true)
        let none = try assistant.ask("explain_error", ["error": "zzzzz"])
        #expect(none["found"]?.integer == 0 && none["advice"] != nil)
    }

    @Test("every tool says what it does, its arguments are described, and the page about assistants has it")
    func tools() throws {
        let list = try assistant.message(assistant.send("tools/list", [:]))["result"]?["tools"]?.array ?? []
        let page = try Repository.read("docs/assistants.md")
        #expect(list.count == assistant.tools.count)
        #expect(Set(list.map { $0["name"]?.string }).count == list.count)
        for tool in list {
            let name = try #require(tool["name"]?.string)
            #expect(page.contains("`\(name)`"), "\(name)")
            #expect(tool["description"]?.string?.isEmpty == false)
            let schema = try #require(tool["inputSchema"])
            #expect(schema["type"]?.string == "object" && schema["additionalProperties"]?.bool == false)
            for (member, description) in schema["properties"]?.object?.members ?? [] {
                #expect(description["description"]?.string?.isEmpty == false, "\(name) \(member)")
            }
        }
        // Models read the list of tools and pay for each word.
        #expect(list.allSatisfy { $0["outputSchema"] == nil })
        #expect(JSONValue.array(list).serialized().count <= 25_000)
    }

    @Test("prompts are listed, and made from what is given")
    func prompts() throws {
        let list = try assistant.message(assistant.send("prompts/list", [:]))["result"]?["prompts"]?.array ?? []
        let page = try Repository.read("docs/assistants.md")
        #expect(list.compactMap { $0["name"]?.string } == ["why_refused", "write_test"])
        for prompt in list { #expect(page.contains("`\(prompt["name"]?.string ?? "")`")) }
        func get(_ params: JSONValue) throws -> JSONValue {
            try assistant.message(assistant.send("prompts/get", params))
        }
        let made = try get(["name": "write_test", "arguments": ["what": "the person cancels"]])
        let message = made["result"]?["messages"]?.array?.first
        #expect(message?["role"]?.string == "user")
        #expect(message?["content"]?["text"]?.string?.contains("for this: the person cancels.") == true)
        for wrong: JSONValue in [
            ["name": "write_test"], ["name": "write_tests"], ["name": "why_refused", "arguments": ["app": "x"]],
            ["name": "why_refused", "arguments": ["client": 7]],
        ] { #expect(try get(wrong)["error"]?["code"]?.integer == -32602, "\(wrong)") }
    }
}
