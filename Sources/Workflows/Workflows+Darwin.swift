import Foundation

// All of this module that is another on Apple's platforms than on Linux.

#if canImport(Darwin)
  /// Waits until all that was written is on the disk; `false` if the drive cannot tell.
  ///
  /// "fsync(2)" and "fcntl(2)", `F_FULLFSYNC`: `fsync` leaves the bytes in the cache of the
  /// drive; this call has the drive write them, too, where its file system can.
  func emptyDriveCache(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_FULLFSYNC) == 0 }
#else
  @inline(__always)
  func emptyDriveCache(_ descriptor: Int32) -> Bool { false }
#endif
