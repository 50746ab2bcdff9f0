import Platform

extension File {
    package enum Kind: Sendable { case file, folder }

    /// Returns whether a file or a folder (`kind`) is at a path.
    ///
    /// - Throws: A failure if something of another kind is there. A symbolic link isn't followed.
    package static func isThere(_ kind: Kind, at path: String) throws(Failure) -> Bool {
        let what = "can't be replaced"
        var status = stat()
        guard lstat(path, &status) == 0 else {
            let failure = Failure(path, what)
            guard failure.isMissing else { throw failure }
            return false
        }
        switch (status.st_mode & S_IFMT, kind) {
        case (S_IFREG, .file), (S_IFDIR, .folder): return true
        case (S_IFLNK, _): throw Failure(path, what, "the path is a symbolic link")
        case (S_IFDIR, .file): throw Failure(path, what, "the path is a directory")
        case (_, .file): throw Failure(path, what, "the path isn't a regular file")
        case (_, .folder): throw Failure(path, what, "the path isn't a directory")
        }
    }
}

/// Replaces the contents of a folder, and a file beside it that describes the folder. Other processes see either all
/// old files of the folder, or all new ones. Files that other programs have put into the folder stay.
package struct FolderUpdate {
    private static let what = "can't be written"
    private let directory: String
    private let folder: String
    private let note: String
    private let isReplaced: (String) -> Bool
    /// The file mode of the folder that is replaced; `nil` when the folder doesn't exist yet.
    private let mode: mode_t?
    /// The temporary folder in which the new files are written before they replace the old ones.
    private let holder: String

    private var place: String { "\(directory)/\(folder)" }
    private var draft: String { "\(holder)/\(folder)" }

    /// Prepares the update of a folder and of the file that describes the folder. Nothing is changed yet.
    ///
    /// - Parameters:
    ///   - folder: The folder's name in the directory.
    ///   - note: The name of the file, also in the directory, that describes the folder.
    ///   - isReplaced: A function that gets the name of a file in the folder, and returns whether the update may delete
    ///     this file.
    ///
    /// - Throws: A failure if something is in the way, such as a file in the folder's place.
    package init(
        of folder: String, and note: String, in directory: String, replacing isReplaced: @escaping (String) -> Bool
    ) throws(File.Failure) {
        self.directory = directory
        self.folder = folder
        self.note = note
        self.isReplaced = isReplaced
        let place = "\(directory)/\(folder)"
        holder = File.draftName(for: place)
        _ = try File.isThere(.file, at: "\(directory)/\(note)")
        guard try File.isThere(.folder, at: place) else {
            mode = nil
            return
        }
        var status = stat()
        guard access(place, W_OK | X_OK) == 0, lstat(place, &status) == 0 else {
            throw File.Failure(place, FolderUpdate.what)
        }
        mode = status.st_mode & 0o7777
        for name in try File.names(in: place) where isReplaced(name) {
            _ = try File.isThere(.file, at: "\(place)/\(name)")
        }
    }

    /// Replaces the folder's files by `files`, and the contents of the file that describes the folder by `text`. If one
    /// of these files can't be written, nothing is changed.
    package func write(_ files: [(name: String, bytes: [UInt8])], and text: [UInt8]) throws(File.Failure) {
        guard mkdir(holder, 0o700) == 0 else { throw File.Failure(place, FolderUpdate.what) }
        do throws(File.Failure) {
            guard mkdir(draft, 0o777) == 0 else { throw File.Failure(place, FolderUpdate.what) }
            for file in files { try File.write(file.bytes, to: "\(draft)/\(file.name)", mode: 0o644) }
            try File.write(text, to: "\(holder)/\(note)", mode: 0o644)
            if let mode, chmod(draft, mode) != 0 { throw File.Failure(place, FolderUpdate.what) }
            try exchange(draft, place)
        } catch {
            try? removeDraft()
            throw error
        }
        try complete()
        try removeDraft()
    }

    /// Completes an update after the new folder has taken the old folder's place. The files of other programs move from
    /// the old folder into the new folder. Then the file that describes the folder is replaced. If this fails, the old
    /// folder is put back.
    private func complete() throws(File.Failure) {
        var kept: [String] = []
        do throws(File.Failure) {
            for name in try mode == nil ? [] : File.names(in: draft) where !isReplaced(name) {
                try FolderUpdate.move("\(draft)/\(name)", to: "\(place)/\(name)")
                kept.append(name)
            }
            try FolderUpdate.move("\(holder)/\(note)", to: "\(directory)/\(note)")
        } catch {
            for name in kept { try? FolderUpdate.move("\(place)/\(name)", to: "\(draft)/\(name)") }
            let isUndone = mode == nil ? rename(place, draft) == 0 : understudy_exchange(draft, place) == 0
            if isUndone { try? removeDraft() }
            throw error
        }
    }

    private func exchange(_ draft: String, _ place: String) throws(File.Failure) {
        guard mode != nil else { return try FolderUpdate.move(draft, to: place) }
        guard understudy_exchange(draft, place) == 0 else { throw File.Failure(place, FolderUpdate.what) }
    }

    private static func move(_ path: String, to other: String) throws(File.Failure) {
        guard rename(path, other) == 0 else { throw File.Failure(other, what) }
    }

    /// Removes the temporary folder. If another program has added a file to it meanwhile, the folder stays, and this
    /// throws.
    private func removeDraft() throws(File.Failure) {
        unlink("\(holder)/\(note)")
        if let names = try? File.names(in: draft) {
            for name in names where isReplaced(name) { unlink("\(draft)/\(name)") }
            guard rmdir(draft) == 0 else { throw File.Failure(draft, "can't be removed") }
        }
        guard rmdir(holder) == 0 else { throw File.Failure(holder, "can't be removed") }
    }
}

/// An archive of files in the format of `tar`.
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13_06>
package struct TarArchive: Sendable {
    private static let block = 512
    private var content: [UInt8] = []
    /// The modification time that every file in the archive gets, in seconds since 1970.
    private let time: Int64

    /// Makes an empty archive. `time` is the modification time of files that are added to it, in seconds since 1970.
    package init(time: Int64) { self.time = max(0, min(time, 0o77_777_777_777)) }

    /// The bytes of the `tar` archive, with the two empty blocks at its end.
    package var bytes: [UInt8] { content + [UInt8](repeating: 0, count: 2 * TarArchive.block) }

    /// Adds a file to the archive. Only the last 100 bytes of `path` are kept, because longer paths aren't supported.
    package mutating func add(_ path: String, _ file: [UInt8]) {
        var header = [UInt8](repeating: 0, count: TarArchive.block)
        func put(_ text: String, at place: Int, _ count: Int) {
            for (index, byte) in text.utf8.suffix(count).enumerated() { header[place + index] = byte }
        }
        put(path, at: 0, 100)
        put(TarArchive.octal(0o644, 7), at: 100, 8)
        for place in [108, 116] { put(TarArchive.octal(0, 7), at: place, 8) }
        put(TarArchive.octal(Int64(file.count), 11), at: 124, 12)
        put(TarArchive.octal(time, 11), at: 136, 12)
        put("0", at: 156, 1)
        put("ustar", at: 257, 6)
        put("00", at: 263, 2)
        // The checksum counts its own bytes as spaces.
        for place in 148..<156 { header[place] = UInt8(ascii: " ") }
        let sum = header.reduce(Int64(0)) { $0 + Int64($1) }
        put(TarArchive.octal(sum, 6) + "\0 ", at: 148, 8)
        content += header + file
        let rest = file.count % TarArchive.block
        if rest > 0 { content += [UInt8](repeating: 0, count: TarArchive.block - rest) }
    }

    /// Returns a number in octal, with so many leading zeros that it has `digits` digits.
    private static func octal(_ number: Int64, _ digits: Int) -> String {
        let text = String(number, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
