#pragma once

/// Trace files (.mbtrace): one SQLite file of small tables and compressed columns. FORMAT.md describes every byte.
/// This header gathers what other rooms use:
#include "traces/store/trace_summary.h"  // summarize: tracks, peaks and times without reading the whole file
#include "traces/store/trace_writer.h"   // TraceWriter: records a trace while it happens; absorbLog
#include "traces/store/whole_trace.h"    // writeTrace and readTrace: a whole Trace at once
// A program that shows a recording while it grows uses TraceFollower, in traces/store/follower.h.
