/// The SHA-256 digest of FIPS 180-4, for machines without OpenSSL.
///
/// It is written out here because Foundation has no digest on Linux and the package has
/// no dependencies. Do not protect secrets with it: its timing may reveal them.
struct PortableSHA256: ~Copyable {
  private var state = SIMD8<UInt32>(
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
    0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19)
  /// Begins with the bytes that do not fill a block of 64 bytes yet.
  private var rest = SIMD64<UInt8>()
  private var restCount = 0
  private var length: UInt64 = 0

  /// Adds the next bytes.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    length &+= UInt64(bytes.count)
    var bytes = bytes[...]
    if restCount > 0 {
      let missing = bytes.prefix(64 - restCount)
      keep(missing)
      bytes = bytes.dropFirst(missing.count)
      guard restCount == 64 else { return }
      let block = rest
      withUnsafeBytes(of: block) { digest($0) }
      restCount = 0
    }
    let whole = bytes.count & ~63
    digest(UnsafeRawBufferPointer(rebasing: bytes.prefix(whole)))
    keep(bytes.dropFirst(whole))
  }

  private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
    let start = restCount
    withUnsafeMutableBytes(of: &rest) { rest in
      UnsafeMutableRawBufferPointer(rebasing: rest[start...])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes))
    }
    restCount += bytes.count
  }

  /// Returns the 32 bytes of the digest.
  consuming func finalize() -> [UInt8] {
    let bits = length &* 8
    var end: [UInt8] = [0x80]
    end += [UInt8](repeating: 0, count: (119 - restCount) % 64)
    end += (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) }
    end.withUnsafeBytes { update($0) }
    var bytes: [UInt8] = []
    for i in 0..<32 {
      bytes.append(UInt8(truncatingIfNeeded: state[i / 4] &>> (24 - 8 * UInt32(i % 4))))
    }
    return bytes
  }

  /// Digests a number of whole blocks.
  private mutating func digest(_ blocks: UnsafeRawBufferPointer) {
    var state = state
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 16) { w in
      Self.constants.withUnsafeBufferPointer { k in
        for block in stride(from: 0, to: blocks.count, by: 64) {
          for i in 0..<16 {
            let word = blocks.loadUnaligned(fromByteOffset: block + 4 * i, as: UInt32.self)
            w[i] = UInt32(bigEndian: word)
          }
          state &+= Self.digestBlock(state, w.baseAddress!, k.baseAddress!)
        }
      }
    }
    self.state = state
  }

  /// - Parameter w: The words of the block. They are overwritten.
  /// - Returns: What the block adds to the state.
  private static func digestBlock(
    _ state: SIMD8<UInt32>, _ w: UnsafeMutablePointer<UInt32>, _ k: UnsafePointer<UInt32>
  ) -> SIMD8<UInt32> {
    @inline(__always) func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
      word &>> count | word &<< (32 &- count)
    }
    /// The word of a step after the first 16. It replaces the word of 16 steps before.
    @inline(__always) func next(_ i: Int) -> UInt32 {
      let (x, y) = (w[(i &- 15) & 15], w[(i &- 2) & 15])
      let s0 = rotated(x, 7) ^ rotated(x, 18) ^ x &>> 3
      let s1 = rotated(y, 17) ^ rotated(y, 19) ^ y &>> 10
      w[i & 15] &+= s0 &+ w[(i &- 7) & 15] &+ s1
      return w[i & 15]
    }
    @inline(__always) func step(
      _ i: Int, _ word: (Int) -> UInt32, _ a: UInt32, _ b: UInt32, _ c: UInt32,
      _ d: inout UInt32, _ e: UInt32, _ f: UInt32, _ g: UInt32, _ h: inout UInt32
    ) {
      let s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
      let choice = g ^ e & (f ^ g)
      let t1 = h &+ s1 &+ choice &+ k[i] &+ word(i)
      let s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
      let majority = a & b | c & (a | b)
      d &+= t1
      h = t1 &+ s0 &+ majority
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    /// Eight steps. The variables change places instead of values, which is faster.
    @inline(__always) func eightSteps(_ i: Int, _ word: (Int) -> UInt32) {
      step(i, word, a, b, c, &d, e, f, g, &h)
      step(i &+ 1, word, h, a, b, &c, d, e, f, &g)
      step(i &+ 2, word, g, h, a, &b, c, d, e, &f)
      step(i &+ 3, word, f, g, h, &a, b, c, d, &e)
      step(i &+ 4, word, e, f, g, &h, a, b, c, &d)
      step(i &+ 5, word, d, e, f, &g, h, a, b, &c)
      step(i &+ 6, word, c, d, e, &f, g, h, a, &b)
      step(i &+ 7, word, b, c, d, &e, f, g, h, &a)
    }
    eightSteps(0) { w[$0] }
    eightSteps(8) { w[$0] }
    for i in stride(from: 16, to: 64, by: 16) {
      eightSteps(i, next)
      eightSteps(i &+ 8, next)
    }
    return SIMD8(a, b, c, d, e, f, g, h)
  }

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
    0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
    0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
    0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
    0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
    0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
    0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
    0xc671_78f2,
  ]
}
