extension PostgreSQLArchive {
    package var recordings: (any RecordingKeeper)? { PostgreSQLRecordings(pool) }
}
