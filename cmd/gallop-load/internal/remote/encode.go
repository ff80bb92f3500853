package remote

import (
	"encoding/binary"
	"math"
	"time"
)

// Series are samples of one metric with one set of labels.
type Series struct {
	Labels  []Label
	Samples []Sample
}

// Label is a name and a value. The name of the metric has the label name __name__.
type Label struct{ Name, Value string }

// Sample is a value at a time.
type Sample struct {
	Time  time.Time
	Value float64
}

// Tags of the fields: the field number times 8 plus the wire type.
const (
	tagSeries = 1<<3 | 2 // WriteRequest.timeseries

	tagLabel  = 1<<3 | 2 // TimeSeries.labels
	tagSample = 2<<3 | 2 // TimeSeries.samples

	tagName       = 1<<3 | 2 // Label.name
	tagLabelValue = 2<<3 | 2 // Label.value

	tagValue = 1<<3 | 1 // Sample.value, 8 bytes
	tagTime  = 2 << 3   // Sample.timestamp in milliseconds, a varint
)

// encode returns a WriteRequest as a protocol buffer.
func encode(all []Series) []byte {
	var out, series, part []byte
	for _, s := range all {
		series = series[:0]
		for _, l := range s.Labels {
			part = appendBytes(part[:0], tagName, []byte(l.Name))
			part = appendBytes(part, tagLabelValue, []byte(l.Value))
			series = appendBytes(series, tagLabel, part)
		}
		for _, p := range s.Samples {
			part = append(part[:0], tagValue)
			part = binary.LittleEndian.AppendUint64(part, math.Float64bits(p.Value))
			part = append(part, tagTime)
			part = binary.AppendUvarint(part, uint64(p.Time.UnixMilli()))
			series = appendBytes(series, tagSample, part)
		}
		out = appendBytes(out, tagSeries, series)
	}
	return out
}

func appendBytes(out []byte, tag byte, value []byte) []byte {
	out = binary.AppendUvarint(append(out, tag), uint64(len(value)))
	return append(out, value...)
}
