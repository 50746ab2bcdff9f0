TEST KEY. It belongs to Understudy's seed data, is public, and works with nothing real.
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwVoQTxYOaqq7fieB
xeFCDdnHuLrKgby4uASfx2Ck9w2hRANCAAR+nfmqrqy7M7NBSqzx8uihMtTZoSBP
RxdlQ+bMKDq0/OO3yYF+b1zsV7rch2S5jI8CySQH+jUwanlCT29HdP9K
-----END PRIVATE KEY-----
