TEST KEY. It belongs to Understudy's seed data, is public, and works with nothing real.
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsh+Y7TrHtrtxRpEv
YHaEfmHuVObkXzzQfg88j7o7uPWhRANCAARCOUD7K6oqv0pN+l01p7EXlkUKXUPX
3zWh0st56Km53PWH5qubGqressWNeW0sXNSLfSe6ZmzPxp6MdnOOlUhz
-----END PRIVATE KEY-----
