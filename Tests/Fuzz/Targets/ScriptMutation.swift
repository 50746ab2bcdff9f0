import HTTPServer
import JSON
import EmulatorCore

/// Changes a script so that it stays a script. It changes requests, and their addresses, fields, values and headers.
enum ScriptMutation {
    private static let targets: [String] = {
        guard let daemon = try? FuzzDaemon.shared else { return ["GET /"] }
        return daemon.catalog.entries.map { entry in
            "\(entry.method) \(entry.host.map { "/\($0.replacing("*", with: "demo-app"))" } ?? "")\(entry.path)"
        } + FuzzWords.control
    }()

    static func mutate(_ bytes: [UInt8], _ random: inout FuzzRandom) -> [UInt8] {
        var script = Script(bytes)
        let place = Int.random(in: script.parts.indices, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            script.parts.insert(script.parts[place], at: Int.random(in: 0...script.parts.count, using: &random))
        case 1 where script.parts.count > 1: script.parts.remove(at: place)
        case 2: script.parts.swapAt(place, Int.random(in: script.parts.indices, using: &random))
        case 3: script.parts.append(made(&random))
        case 4: script.parts[place] = readdressed(script.parts[place], &random)
        case 5: script.parts[place] = withField(script.parts[place], &random)
        case 6: script.parts[place] = withHeader(script.parts[place], &random)
        case 7: script.parts[place] = inWorld(script.parts[place], &random)
        default: script.parts[place] = withValue(script.parts[place], &random)
        }
        return script.bytes
    }

    /// Makes a request to any endpoint, with a few fields.
    private static func made(_ random: inout FuzzRandom) -> Script.Part {
        let target = pick(targets, &random)
        let names = (0..<Int.random(in: 0...5, using: &random)).map { _ in pick(FuzzWords.fields, &random) }
        let isJSON = Bool.random(using: &random)
        let pairs = names.map { (name: $0, value: pick(FuzzWords.values, &random)) }
        let form = pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        guard !target.hasPrefix("GET ") else { return Script.Part(bytes: Array("\(target)?\(form)".utf8)) }
        let object = pairs.map { "\"\($0.name)\":\(isNumber($0.value) ? $0.value : "\"\($0.value)\"")" }
        let body = isJSON ? "{\(object.joined(separator: ","))}" : form
        let type = isJSON ? "application/json" : "application/x-www-form-urlencoded"
        return Script.Part(bytes: Array("\(target)\nContent-Type: \(type)\n\n\(body)".utf8))
    }

    private static func readdressed(_ part: Script.Part, _ random: inout FuzzRandom) -> Script.Part {
        let end = part.bytes.firstIndex(of: 0x0A) ?? part.bytes.endIndex
        return Script.Part(bytes: Array(pick(targets, &random).utf8) + part.bytes[end...])
    }

    private static func withField(_ part: Script.Part, _ random: inout FuzzRandom) -> Script.Part {
        var bytes = part.bytes
        let (name, value) = (pick(FuzzWords.fields, &random), pick(FuzzWords.values, &random))
        if bytes.last == UInt8(ascii: "}") {
            bytes.removeLast()
            if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
            bytes += Array("\"\(name)\":\(isNumber(value) ? value : "\"\(value)\"")}".utf8)
        } else {
            bytes += Array("&\(name)=\(value)".utf8)
        }
        return Script.Part(bytes: bytes)
    }

    private static func withHeader(_ part: Script.Part, _ random: inout FuzzRandom) -> Script.Part {
        let end = part.bytes.firstIndex(of: 0x0A) ?? part.bytes.endIndex
        let header = "\n" + pick(FuzzWords.headers, &random)
        return Script.Part(bytes: part.bytes[..<end] + Array(header.utf8) + part.bytes[end...])
    }

    private static func inWorld(_ part: Script.Part, _ random: inout FuzzRandom) -> Script.Part {
        guard let slash = part.bytes.firstIndex(of: UInt8(ascii: "/")) else { return part }
        let world = pick(["/~w1", "/~w2", "/~default", "/~", "/~w1/~w2"], &random)
        return Script.Part(bytes: part.bytes[..<slash] + Array(world.utf8) + part.bytes[slash...])
    }

    /// Replaces one value in a part of a script. A value ends at one of the characters in `ends`.
    private static func withValue(_ part: Script.Part, _ random: inout FuzzRandom) -> Script.Part {
        let ends = Set("=&\"\n :,".utf8)
        let starts = part.bytes.indices.filter { ends.contains(part.bytes[$0]) }
        guard !starts.isEmpty else { return made(&random) }
        let start = starts[Int.random(in: starts.indices, using: &random)] + 1
        let end =
            part.bytes[start...].firstIndex { ends.contains($0) || $0 == UInt8(ascii: "}") } ?? part.bytes.endIndex
        return Script.Part(
            bytes: part.bytes[..<start] + Array(pick(FuzzWords.values, &random).utf8) + part.bytes[end...])
    }

    private static func isNumber(_ text: String) -> Bool {
        (try? JSONValue(parsing: text)) != nil
    }

    private static func pick<Element>(_ elements: [Element], _ random: inout FuzzRandom) -> Element {
        elements[Int.random(in: elements.indices, using: &random)]
    }
}
