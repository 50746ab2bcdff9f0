import JOSE
import JSON

/// Reads the keys of a seed file, which are given as PEM text or as names of PEM files, and replaces each file's name
/// by the file's text.
struct KeyFiles {
    let source: SeedSource
    /// The keys that have been read from the seed file. Each is found by its PEM text, so that it is parsed only once.
    private(set) var keys: [String: Key] = [:]
    private(set) var issues: [Issue] = []

    private let reader: KeyReader?
    /// Whether the keys are also parsed. If not, only the files with keys are read.
    private let readsKeys: Bool

    init(source: SeedSource, reader: KeyReader?, readsKeys: Bool = true) {
        self.source = source
        self.reader = reader
        self.readsKeys = readsKeys
    }

    mutating func resolved(_ json: LocatedJSON) -> LocatedJSON {
        LocatedJSON(visit(json, in: nil) ?? json.value, at: json.location)
    }

    /// Returns `json`, a value in a seed file, with each name of a key file replaced by the file's text; `nil` when
    /// nothing has to be replaced. If `json` is an element of a list, `list` is the list's name.
    private mutating func visit(_ json: LocatedJSON, in list: String?, of member: String? = nil) -> JSONValue? {
        switch json.value {
        case .array(var items):
            var isChanged = false
            for (place, item) in items.enumerated() where item.array != nil || item.object != nil {
                guard let changed = visit(LocatedJSON(item, at: json.location.element(place)), in: member) else {
                    continue
                }
                items[place] = changed
                isChanged = true
            }
            return isChanged ? .array(items) : nil
        case .object(var object):
            var isChanged = false
            for (key, value) in object.members where value.array != nil || value.object != nil {
                let member = LocatedJSON(value, at: json.location.member(key))
                guard let changed = visit(member, in: nil, of: key) else { continue }
                object[key] = changed
                isChanged = true
            }
            for name in ["publicKey", "privateKey"] {
                guard let pem = key(name, of: json, in: list) else { continue }
                object[name] = .string(pem)
                object["\(name)File"] = nil
                isChanged = true
            }
            return isChanged ? .object(object) : nil
        default: return nil
        }
    }

    /// Returns the PEM text in the member `name` of the object `json`. Without this member, returns the text of the
    /// file that the member with the suffix `File` names, such as `publicKeyFile`; `nil` if there is neither.
    private mutating func key(_ name: String, of json: LocatedJSON, in list: String?) -> String? {
        let file = json["\(name)File"]
        var pem = json[name]
        guard file?.string != nil || pem?.string != nil else {
            // Only these lists need a key in every element. A JSON Web Key in a key set is complete by itself. A
            // client's key may be given by its private half alone.
            let hasOther = name == "publicKey" && (json["privateKeyFile"] ?? json["privateKey"]) != nil
            let needing = name == "publicKey" ? "keys" : "signingKeys"
            if list == needing, json["kty"] == nil, !hasOther {
                issues.append(Issue(json, "the member \"\(name)File\" (or \"\(name)\") is missing"))
            }
            return nil
        }
        if let file, pem != nil {
            issues.append(Issue(file, "give \"\(name)File\" or \"\(name)\", not both"))
            return nil
        }
        if let file, !source.namesFiles {
            issues.append(
                Issue(file, "a seed in a request can't name files: give the key's PEM text in \"\(name)\""))
            return nil
        }
        if let file, let path = file.string {
            do {
                let text = String(decoding: try source.readBeside(path), as: UTF8.self)
                pem = LocatedJSON(.string(text), at: file.location)
            } catch {
                let reason = (error as? File.Failure).map { ": \($0.reason)" } ?? ""
                issues.append(Issue(file, "the file \"\(path)\" can't be read\(reason)"))
                return nil
            }
        }
        guard let pem, let text = pem.string else { return nil }
        check(pem, text, isPrivate: name == "privateKey", signsTokens: list == "signingKeys")
        return text
    }

    private mutating func check(_ pem: LocatedJSON, _ text: String, isPrivate: Bool, signsTokens: Bool) {
        guard readsKeys else { return }
        do {
            let key = try keys[text] ?? Key(pem: Array(text.utf8), reader: reader ?? KeyReader())
            keys[text] = key
            // Keys that sign tokens are checked in `expectSigningKeys`, where the algorithms are known.
            if !signsTokens, key.kind != .p256 || (isPrivate && !key.isPrivate) {
                issues.append(Issue(pem, "expected a P-256 \(isPrivate ? "private" : "public") key"))
            }
        } catch {
            issues.append(Issue(pem, "not a usable key: \(error)"))
        }
    }
}
