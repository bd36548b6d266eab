// Package attemptdir is the format of an attempt's output on disk: its segments and the index beside them.
//
// Output is a stream of bytes, each with an absolute offset for ever. The first segment is output.log;
// a later one is output.log.N, where N is the offset of its first byte, so that a directory's listing
// says where each lies. What is between the end of one segment and the start of the next was let go, or
// never reached the disk: it is a gap. A gap within a segment is a hole in the file, and is noted in the index.
//
// The index is a file of JSON lines. It says when output came, which sizes the terminal had, which
// stream bytes are of, and where gaps are:
//
//	{"o":65536,"t":1732890000123}           bytes from offset o on came at t (Unix milliseconds), or within a second of it
//	{"o":65536,"t":1732890000123,"d":8000}  … within d milliseconds, where records between were let go
//	{"o":70000,"t":…,"c":120,"r":40}        from here on the terminal has 120 columns and 40 rows
//	{"o":80000,"t":…,"s":[1,20,2,35,1]}     20 bytes of standard output, 35 of standard error, then standard output;
//	                                        stream 0: not known
//	{"gap_from":3,"gap_to":6}               bytes 3 to 6 aren't there
//
// Offsets of records never fall; gaps are noted before what comes after them is written. There is no index
// before output is older than a second or longer than 64 KiB: until then all came when the first segment was
// last written. A torn line, as a power cut leaves, is skipped.
package attemptdir
