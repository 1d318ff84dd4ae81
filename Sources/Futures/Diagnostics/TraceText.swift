// A recording as text in the trace format of Chrome, which Perfetto opens.

/// Something that took some time.
package struct TraceSlice: Sendable {
  /// The row of the slice, or of the rows in which overlapping slices of one kind appear.
  package let track: String?
  package let category: String
  package var name: String
  /// The beginning and the end, in nanoseconds of the monotonic clock.
  package let began: UInt64
  package let ended: UInt64
  /// Names, which need no escapes, and values in JSON.
  package let details: [(name: String, json: String)]

  package init(
    track: String? = nil, category: String, name: String, began: UInt64, ended: UInt64,
    details: [(String, String)]
  ) {
    self.track = track
    self.category = category
    self.name = name
    self.began = began
    self.ended = max(ended, began)
    self.details = details
  }
}

/// A group of rows of a trace.
package struct TraceProcess: Sendable {
  package let name: String
  /// In the order in which they began.
  package let slices: [TraceSlice]

  package init(name: String, slices: [TraceSlice]) {
    self.name = name
    self.slices = slices
  }
}

package enum TraceText {
  /// Returns the trace.
  ///
  /// - Parameter summary: Text for people, which the trace contains.
  package static func json(_ processes: [TraceProcess], summary: String) -> String {
    let origin = processes.compactMap(\.slices.first?.began).min() ?? 0
    var events: [String] = []
    for (number, process) in processes.enumerated() {
      let prefix = #""pid":\#(number + 1),"tid":"#
      events.append(metadata("process_name", prefix + "0", process.name))
      append(process.slices, prefix, from: origin, to: &events)
    }
    return #"{"traceEvents":["# + "\n" + events.joined(separator: ",\n") + "\n"
      + #"],"displayTimeUnit":"ms","otherData":{"summary":\#(JSONText.quoted(summary))}}"# + "\n"
  }

  private static func append(
    _ slices: [TraceSlice], _ prefix: String, from origin: UInt64, to events: inout [String]
  ) {
    var lanes: [String?: TraceLanes] = [:]
    // The numbers of the rows, by track and lane.
    var rows: [String?: [Int: Int]] = [:]
    var rowCount = 0
    for slice in slices {
      let lane = lanes[slice.track, default: TraceLanes()].place(from: slice.began, to: slice.ended)
      var row = rows[slice.track]?[lane] ?? 0
      if row == 0 {
        rowCount += 1
        row = rowCount
        rows[slice.track, default: [:]][lane] = row
        if let track = slice.track {
          events.append(
            metadata("thread_name", prefix + "\(row)", lane == 1 ? track : "\(track) (\(lane))"))
        }
      }
      let details = slice.details.map { #""\#($0.name)":\#($0.json)"# }.joined(separator: ",")
      events.append(
        #"{"name":\#(JSONText.quoted(slice.name)),"cat":"\#(slice.category)","ph":"X",\#(prefix)\#(row),"#
          + #""ts":\#(microseconds(slice.began - origin)),"#
          + #""dur":\#(microseconds(slice.ended - slice.began)),"args":{\#(details)}}"#)
    }
  }

  private static func metadata(_ kind: String, _ place: String, _ name: String) -> String {
    #"{"name":"\#(kind)","ph":"M",\#(place),"args":{"name":\#(JSONText.quoted(name))}}"#
  }

  private static func microseconds(_ nanoseconds: UInt64) -> String {
    let rest = String(nanoseconds % 1000)
    return "\(nanoseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
  }
}

/// Text in the language of JSON.
package enum JSONText {
  /// Returns a string literal.
  package static func quoted(_ text: String) -> String {
    let escaped = DrawnText.replacing(in: text) { scalar in
      switch scalar {
      case "\"": return "\\\""
      case "\\": return "\\\\"
      case "\n": return "\\n"
      case "\r": return "\\r"
      case "\t": return "\\t"
      case "\u{0}"..<" ", "\u{7F}", "\u{2028}", "\u{2029}":
        let hex = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: return nil
      }
    }
    return "\"\(escaped)\""
  }
}
