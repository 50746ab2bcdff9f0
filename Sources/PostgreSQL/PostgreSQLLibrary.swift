import CPostgreSQL
import Platform

/// The PostgreSQL client library libpq, which is opened at its first use.
enum PostgreSQLLibrary {
    /// The functions of the library libpq; `nil` if it isn't installed, or is older than version 14.
    nonisolated(unsafe) static let functions: UnsafePointer<understudy_libpq>? = understudy_open_libpq()

    static func opened() throws(PostgreSQLError) -> UnsafePointer<understudy_libpq> {
        guard let functions else {
            throw PostgreSQLError(
                .library,
                "libpq isn't installed, or is older than version 14: install it (Debian's libpq5, Homebrew's libpq)")
        }
        return functions
    }
}

/// The URL of a PostgreSQL database: <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>
package struct PostgreSQLAddress: Sendable {
    let url: String
    /// The parts `HOST:PORT/DATABASE` of the database's URL, as far as it has them, for messages. They contain no
    /// secret.
    package let title: String
    private let password: String?

    /// Reads the URL of a PostgreSQL database, without connecting.
    package init(_ url: String) throws(PostgreSQLError) {
        _ = try PostgreSQLLibrary.opened()
        guard !PostgreSQLAddress.hasBareCharacters(url) else {
            throw PostgreSQLError(
                .address,
                "its user or password has a character that a URL can't have there: write %40 for @, %2F for /, %25 for %"
            )
        }
        var isValid: Int32 = 0
        let option: (String) -> String? = { name in
            guard let found = understudy_libpq_option(url, name, &isValid) else { return nil }
            defer { free(found) }
            return String(cString: found)
        }
        let (host, port, database) = (option("host"), option("port"), option("dbname"))
        guard isValid != 0 else {
            throw PostgreSQLError(.address, "it isn't a URL like postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
        }
        self.url = url
        password = option("password").flatMap { $0.isEmpty ? nil : $0 }
        title = (host ?? "localhost") + (port.map { ":\($0)" } ?? "") + (database.map { "/\($0)" } ?? "")
    }

    /// Whether the user name or the password in the database's URL contains an unescaped `/` or `@`. libpq would read a
    /// part of such a name or password as host, port or database, and show that part in messages.
    private static func hasBareCharacters(_ url: String) -> Bool {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let beforeOptions = rest.prefix { $0 != "?" }
        guard let end = beforeOptions.utf8.lastIndex(of: UInt8(ascii: "@")) else { return false }
        let user = beforeOptions[..<end]
        return user.contains { "/@".contains($0) }
    }

    /// Returns a message of the database on one line, with asterisks in place of the password.
    func line(_ message: String) -> String {
        var line = message.split(whereSeparator: \.isNewline)
            .map { $0.drop { $0.isWhitespace } }.joined(separator: "; ")
        if let password {
            let parts = line.split(separator: password, omittingEmptySubsequences: false)
            line = parts.joined(separator: "*****")
        }
        return String(line.prefix(500))
    }
}

/// An error of a PostgreSQL database or of its client library.
package struct PostgreSQLError: Error, Equatable, CustomStringConvertible, Sendable {
    package enum Kind: Sendable {
        /// The PostgreSQL client library libpq isn't installed, or is too old.
        case library
        /// The database's URL can't be read.
        case address
        case unreachable
        /// The deadline for the database's answer passed. The connection isn't used any more, and it isn't known
        /// whether the statements have run.
        case late
        /// The database connection had ended before any statement was sent.
        case closed
        /// The database connection ended before an answer, and it isn't known whether the statements have run.
        case lost
        /// The database server refused a statement. None of the statements sent together has taken effect, unless one
        /// of them was COMMIT.
        case refused
    }

    package let kind: Kind
    /// The SQLSTATE of the database's error; empty if the server gave none.
    /// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
    package let state: String
    /// The message of the database's error, on one line and without a password.
    package let message: String

    package init(_ kind: Kind, _ message: String, state: String = "") {
        self.kind = kind
        self.state = state
        self.message = message
    }

    package var description: String { message }
}
