import JSON
import Testing
import Time

@Suite("Schema objects")
struct SchemaTests {
    private enum Color: String, CaseIterable {
        case red
        case blue
    }

    private struct Wheel: SchemaObject {
        let id: String
        let size: Int
        let label: String

        init(_ fields: inout Fields) {
            id = fields("id", .text(.identifier), "What it is called.")
            size = fields("size", .integer(1...100), default: 20, "How large it is.")
            label = fields.optional("label", .text(.any), "What is written on it; the id by default.") ?? id
        }
    }

    private struct Cart: SchemaObject {
        let color: Color
        let life: TimeSpan
        let sold: Instant?
        let tags: [String]
        let wheels: [Wheel]
        let spare: Wheel?
        let notes: [(name: String, value: String)]
        let depth: Int

        init(_ fields: inout Fields) {
            color = fields("color", .choice(Color.self), default: .blue, "Its color.")
            life = fields("life", .duration, default: .minutes(5), "How long it lasts.")
            sold = fields.nullable("sold", .timestamp, "When it was sold.")
            tags = fields("tags", .set(of: .text(.nonEmpty)), default: ["new"], "Words for it.")
            wheels = fields.list("wheels", of: Wheel.self, key: "id", "Its wheels.")
            spare = fields.nullable("spare", .object(Wheel.self), "A wheel more.")
            notes = fields.map("notes", of: .text(.any), "What else there is to say.")
            depth = fields.object("box", "Its box.") { fields in
                fields("depth", .integer(0...9), default: 3, "How deep the box is.")
            }
        }
    }

    private func read(_ text: String) throws -> Cart {
        try Cart(checking: LocatedJSON(try JSONValue(parsing: text), file: "cart"))
    }

    private struct Garage: SchemaObject {
        let wheels: [(name: String, value: Wheel)]

        init(_ fields: inout Fields) {
            _ = fields.optional("name", .text(.any), "Its name.")
            wheels = fields.family("wheel.", listedAs: "wheel.NAME", .object(Wheel.self), "A wheel.")
        }
    }

    @Test("members whose names begin alike are one family: each is checked, completed, merged and told as the others")
    func family() throws {
        let json = try JSONValue(parsing: #"{"wheel.a":{"id":"x"},"wheel.b":{"id":"y","size":5}}"#)
        let garage = try Garage(checking: LocatedJSON(json, file: "garage"))
        #expect(garage.wheels.map(\.name) == ["wheel.a", "wheel.b"])
        #expect(garage.wheels.map(\.value.size) == [20, 5])
        #expect(Garage.schema.completed(json)["wheel.a"]?["size"] == 20)
        let later = LocatedJSON(try JSONValue(parsing: #"{"wheel.b":{"size":6}}"#), file: "later")
        let merged = Garage.schema.merge(LocatedJSON(json, file: "garage"), later)
        #expect(merged["wheel.b"]?["id"]?.string == "y")
        #expect(merged["wheel.b"]?["size"]?.value == 6)
        for (text, message) in [
            (#"{"wheel.a":{}}"#, #"the key "id" is missing"#), (#"{"wheel.":{}}"#, #"unknown key "wheel.""#),
            (#"{"wheelie":{}}"#, "unknown key"),
        ] {
            let error = #expect(throws: Issues.self) {
                try Garage(checking: LocatedJSON(try JSONValue(parsing: text), file: "garage"))
            }
            #expect(error?.description.contains(message) ?? false)
        }
        let schema = Garage.schema.jsonSchema(title: "", description: "")
        #expect(schema["patternProperties"]?["^wheel\\.."]?["type"] == "object")
        let reference = SchemaReference.markdown(Garage.schema, root: "The garage")
        #expect(reference.contains("| `wheel.NAME` | an object |"))
        #expect(reference.contains("## `wheel.NAME`"))
    }

    @Test("what is missing has its default, at every depth")
    func defaults() throws {
        let cart = try read(#"{"wheels":[{"id":"a"}]}"#)
        #expect(cart.color == .blue)
        #expect(cart.life == .minutes(5))
        #expect(cart.sold == nil)
        #expect(cart.tags == ["new"])
        #expect(cart.wheels.first?.size == 20)
        #expect(cart.wheels.first?.label == "a")
        #expect(cart.spare == nil)
        #expect(cart.notes.isEmpty)
        #expect(cart.depth == 3)
    }

    @Test("what is there is read, as the type that it stands for")
    func values() throws {
        let cart = try read(
            #"{"color":"red","life":"2h","sold":"2030-01-01T00:00:00Z","tags":[],"spare":{"id":"s","size":7},"notes":{"b":"1","a":"2"},"box":{"depth":0}}"#
        )
        #expect(cart.color == .red)
        #expect(cart.life == .hours(2))
        #expect(cart.sold?.text == "2030-01-01T00:00:00Z")
        #expect(cart.tags == [])
        #expect(cart.spare?.size == 7)
        #expect(cart.notes.map(\.name) == ["b", "a"])
        #expect(cart.depth == 0)
    }

    @Test("the schema holds what the initializer declares, with defaults as JSON")
    func described() throws {
        let schema = Cart.schema.jsonSchema(title: "Cart", description: "A cart.")
        let properties = schema["properties"]
        #expect(properties?.object?.keys == ["color", "life", "sold", "tags", "wheels", "spare", "notes", "box"])
        #expect(properties?["color"]?["default"] == "blue")
        #expect(properties?["life"]?["default"] == "5m")
        #expect(properties?["sold"]?["default"] == .null)
        #expect(properties?["tags"]?["default"] == ["new"])
        #expect(properties?["wheels"]?["items"]?["required"] == ["id"])
        #expect(properties?["box"]?["properties"]?["depth"]?["default"] == 3)
    }

    @Test(
        "issues name the place",
        arguments: [
            (#"{"wheels":[{}]}"#, #"cart: $.wheels[0]: the key "id" is missing"#),
            (#"{"spare":7}"#, "cart: $.spare: found a number (7), expected an object, or null"),
            (#"{"box":{"depht":1}}"#, #"cart: $.box.depht: unknown key "depht"; did you mean "depth"?"#),
            (#"{"notes":{"a b":1}}"#, #"cart: $.notes["a b"]: found a number"#),
        ])
    func issues(text: String, expected: String) {
        let error = #expect(throws: Issues.self) { try read(text) }
        #expect(error?.description.hasPrefix(expected) ?? false, "\(error?.description ?? "")")
    }

    @Test("after a merge, everything still knows the file and the path at which it was written")
    func merged() throws {
        func file(_ name: String, _ text: String) throws -> LocatedJSON {
            LocatedJSON(try JSONValue(parsing: text), file: name)
        }
        let first = try file("one", #"{"color":"red","wheels":[{"id":"a","size":1},{"id":"b"}]}"#)
        let second = try file("two", #"{"wheels":[{"id":"c"},{"id":"a","size":2}],"tags":["x"]}"#)
        let third = try file("three", #"{"wheels":[{"id":"c","label":"C"}],"tags":["x","y"]}"#)
        let schema = Cart.schema
        let merged = schema.merge(schema.merge(first, second), third)
        #expect(merged.value["wheels"]?.array?.compactMap { $0["id"]?.string } == ["a", "b", "c"])
        #expect(merged.value["tags"] == ["x", "y"])
        func place(_ json: LocatedJSON?) -> String { json.map { "\($0.file): \($0.path)" } ?? "" }
        let wheels = try #require(merged["wheels"]).items
        #expect(place(merged["color"]) == "one: $.color")
        #expect(place(wheels[0]["id"]) == "two: $.wheels[1].id")
        #expect(place(wheels[0]["size"]) == "two: $.wheels[1].size")
        #expect(place(wheels[1]) == "one: $.wheels[1]")
        #expect(place(wheels[2]) == "two: $.wheels[0]")
        #expect(place(wheels[2]["label"]) == "three: $.wheels[0].label")
        #expect(place(merged["tags"]?.items[1]) == "three: $.tags[1]")
    }

    @Test("an object that occurs at several places is told once in the reference")
    func reference() {
        struct Pair: SchemaObject {
            let left: Wheel?
            let right: Wheel?

            init(_ fields: inout Fields) {
                left = fields.nullable("left", .object(Wheel.self), "One side | one wheel.")
                right = fields.nullable("right", .object(Wheel.self), "The other.")
            }
        }
        let text = SchemaReference.markdown(Pair.schema, root: "A pair")
        #expect(text.contains("| `left` | an object, or null | `null` | One side \\| one wheel. |"))
        #expect(text.contains("## `left`\n\n| member | value | default | meaning |"))
        #expect(text.contains("## `right`\n\nThe same members as `left`."))
        #expect(text.contains("| `id` | an identifier: letters, digits, \"-\", \"_\" and \".\" | required |"))
    }
}
