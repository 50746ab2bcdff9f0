import JOSE
import JSON

/// One seed file before it is read: its name in messages, its bytes, and how files beside it are found.
package struct SeedSource: Sendable {
    package let name: String
    package let bytes: [UInt8]
    package let readBeside: @Sendable (String) throws -> [UInt8]
    /// Whether it was checked when it was built in, so that a start needn't check it again.
    let isChecked: Bool

    package init(
        name: String, bytes: [UInt8], isChecked: Bool = false,
        readBeside: @escaping @Sendable (String) throws -> [UInt8]
    ) {
        self.name = name
        self.bytes = bytes
        self.isChecked = isChecked
        self.readBeside = readBeside
    }

    /// The files that `path` stands for: itself, or a directory's `*.json` in name order.
    package static func files(at path: String) throws(SeedFaults) -> [SeedSource] {
        func fault(_ message: String) -> SeedFaults {
            SeedFaults(faults: [SeedFault(file: path, path: "$", message: message)])
        }
        var paths = [path]
        let isDirectory: Bool
        do { isDirectory = try File.isDirectory(path) } catch {
            throw fault(error.isMissing ? "no such file" : "the file can't be read: \(error.reason)")
        }
        if isDirectory {
            let names: [String]
            do { names = try File.names(in: path) } catch {
                throw fault("the directory can't be read: \(error.reason)")
            }
            // The committed JSON Schema lies beside the seeds and isn't one.
            paths = names.filter { $0.hasSuffix(".json") && $0 != "schema.json" }.map { "\(path)/\($0)" }
            if paths.isEmpty { throw fault("no *.json in this directory") }
        }
        var sources: [SeedSource] = []
        for path in paths {
            let text: String
            do { text = try File.text(at: path) } catch {
                throw SeedFaults(faults: [
                    SeedFault(file: path, path: "$", message: "the file can't be read: \(error.reason)")
                ])
            }
            let directory = path.contains("/") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
            sources.append(SeedSource(name: path, text: text, directory: directory))
        }
        return sources
    }

    /// A text whose files lie in `directory`.
    package init(name: String, text: String, directory: String) {
        self.init(name: name, bytes: Array(text.utf8)) { name in
            try File.read(name.hasPrefix("/") ? name : "\(directory)/\(name)")
        }
    }
}

extension Seed {
    /// Reads, validates, merges and decodes. Throws every fault of every file at once.
    package init(_ sources: [SeedSource]) throws(SeedFaults) {
        var faults: [SeedFault] = []
        var roots: [SeedNode] = []
        var keys: [String: Key] = [:]
        let reader = try? KeyReader()
        for source in sources {
            do {
                var root = SeedNode(try JSONValue(parsing: source.bytes, limits: .file), file: source.name)
                if !source.isChecked { faults += Shape.seed.faults(in: root) }
                var files = KeyFiles(source: source, reader: reader)
                files.visit(&root)
                faults += files.faults
                keys.merge(files.keys) { first, _ in first }
                roots.append(root)
            } catch {
                faults.append(SeedFault(file: source.name, path: "$", message: "not JSON: \(error)"))
            }
        }
        let empty = SeedNode([:], file: sources.first?.name ?? "seed")
        let root = roots.reduce(empty) { Shape.seed.merge($0, $1) }
        if sources.contains(where: { !$0.isChecked }) {
            var references = SeedReferences(root)
            references.check()
            faults += references.faults
        }
        guard faults.isEmpty else { throw SeedFaults(faults: faults) }
        do { try self.init(validated: root.value, keys: keys, faultNodes: root["faults"]?.items ?? []) } catch {
            let message = "the merged seed can't be used: \(error)"
            throw SeedFaults(faults: [SeedFault(file: empty.origin.file, path: "$", message: message)])
        }
    }
}

/// Keys that a seed names by file, read and put in its place.
private struct KeyFiles {
    let source: SeedSource
    /// Keys by their PEM text, so that each is read once.
    private(set) var keys: [String: Key] = [:]
    private(set) var faults: [SeedFault] = []

    private let reader: KeyReader?

    init(source: SeedSource, reader: KeyReader?) {
        self.source = source
        self.reader = reader
    }

    mutating func visit(_ node: inout SeedNode) {
        switch node.content {
        case .scalar: return
        case .list(var items):
            node.content = .list([])
            for place in items.indices { visit(&items[place]) }
            node.content = .list(items)
        case .object(var members):
            for place in members.indices { visit(&members[place].value) }
            node.content = .object(members)
            for name in ["publicKey", "privateKey"] { read(name, of: &node) }
        }
    }

    private mutating func read(_ name: String, of node: inout SeedNode) {
        let file = node["\(name)File"]
        var pem = node[name]
        guard file?.string != nil || pem?.string != nil else {
            // Only these two lists need a key in every element.
            let needsOne =
                name == "publicKey" ? KeyFiles.isElement(of: "keys", node) : KeyFiles.isElement(of: "signingKeys", node)
            if needsOne { faults.append(SeedFault(node, "the key \"\(name)File\" (or \"\(name)\") is missing")) }
            return
        }
        if let file, pem != nil {
            faults.append(SeedFault(file, "give \"\(name)File\" or \"\(name)\", not both"))
            return
        }
        if let file, let path = file.string {
            let bytes: [UInt8]
            do { bytes = try source.readBeside(path) } catch {
                let reason = (error as? File.Failure).map { ": \($0.reason)" } ?? ""
                faults.append(SeedFault(file, "the file \"\(path)\" can't be read\(reason)"))
                return
            }
            pem = SeedNode(
                .string(String(decoding: bytes, as: UTF8.self)), file: file.origin.file, path: file.origin.path)
        }
        guard let pem, let text = pem.string else { return }
        do {
            let key = try keys[text] ?? Key(pem: Array(text.utf8), reader: reader ?? KeyReader())
            keys[text] = key
            let wantsRSA = KeyFiles.isElement(of: "signingKeys", node)
            if wantsRSA, key.kind != .rsa(bits: 2048) || !key.isPrivate {
                faults.append(SeedFault(pem, "expected an RSA private key of 2048 bits"))
            } else if !wantsRSA, key.kind != .p256 || (name == "privateKey" && !key.isPrivate) {
                faults.append(SeedFault(pem, "expected a P-256 \(name == "privateKey" ? "private" : "public") key"))
            }
        } catch {
            faults.append(SeedFault(pem, "not a usable key: \(error)"))
        }
        node[name] = pem
        node["\(name)File"] = nil
    }

    private static func isElement(of list: String, _ node: SeedNode) -> Bool {
        guard let bracket = node.origin.path.lastIndex(of: "["), node.origin.path.hasSuffix("]") else { return false }
        return node.origin.path[..<bracket].hasSuffix(".\(list)")
    }
}
