// The parts of Apple's C library that the package uses and that Linux lacks. With this
// module, `canImport(Darwin)` is true. It is transcribed by hand, like `Foundation.swift`
// beside it. It leaves out differences in nullability, as in `pthread_key_create`.

@_exported import Glibc

/// "fcntl(2)": also asks the drive to write its cache.
public let F_FULLFSYNC: Int32 = 51
