import Testing

@testable import EmulatorCore
@testable import Understudy

/// Reading set-up guides.
@Suite struct SetUpGuideTests {
    private let place: SetUpPlace

    init() throws {
        place = SetUpPlace(
            base: "http://localhost:9099/~w1", authority: "localhost:43123",
            seed: try Seed([], format: Providers.seedFormat))
    }

    private let text: StaticString = """
        # {part port}

        {noPort}Get a port first:

        ```
        listen {port}
        ```

        # Example at {name}

        <!-- id: example-{name}, page: web.md, requests: www.example.com /own -->

        For a web app
        with {braces}.

        {part port}

        Write {"a": {"b": "{name}"}}.

        | for | address |
        |---|---|
        | token | {url www.example.com/token} |
        | here | {url} |

        Say who:

        ```
        curl '{url}' -d '{"name":"{json odd}"}' '{shell odd}' {odd}
        ```

        ## Library

        ```
        url = "{url example.com}"
        ```

        ## Without a value

        ```
        {missing}
        ```

        # Second

        <!-- id: second, page: other.md -->

        For others.
        """

    @Test("texts, code and tables are read, with their values") func reading() throws {
        let guides = SetUpGuide.read(
            text, at: place, ["name": "corp", "odd": #"a'b"c"#, "missing": nil, "noPort": nil, "port": "1"])
        #expect(guides.map(\.id) == ["example-corp", "second"])
        let guide = try #require(guides.first)
        #expect(guide.title == "Example at corp" && guide.about == "For a web app with {braces}.")
        #expect(guide.document == "web.md")
        #expect(guide.steps.map(\.text) == [#"Write {"a": {"b": "corp"}}."#, "Say who:"])
        #expect(
            guide.steps.first?.values.map(\.value) == [
                "http://localhost:9099/~w1/www.example.com/token", "http://localhost:9099/~w1",
            ])
        #expect(
            guide.steps.last?.code
                == #"curl 'http://localhost:9099/~w1' -d '{"name":"a'\''b\"c"}' 'a'\''b"c' a'b"c"#)
        #expect(guide.libraries.map(\.text) == ["Library"])
        #expect(guide.libraries.first?.code == #"url = "http://localhost:9099/~w1/example.com""#)
    }

    @Test("a part is shown where a guide names it, and a step without a value is left out") func parts() throws {
        let guides = SetUpGuide.read(text, at: place, ["noPort": "", "port": "PORT", "odd": "x", "missing": "y"])
        let guide = try #require(guides.first)
        #expect(guide.steps.first?.text == "Get a port first:" && guide.steps.first?.code == "listen PORT")
        #expect(guide.steps.count == 3 && guide.libraries.count == 2)
    }
}
