extension PostgreSQLArchive {
    package var recordings: (any RecordingKeeper)? {
        PostgreSQLRecordings(writer: writer) { [weak self] () throws(StoreFailure) in
            guard let self else { throw StoreFailure(.gone, "the daemon has stopped") }
            return try connect()
        }
    }
}
