package pprofhandler

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"time"
)

// A profile is a compressed protocol buffer, described in github.com/google/pprof/proto/profile.proto. Samples refer to locations,
// locations to functions and mappings, and most messages to strings. They refer to each other by numbers, which every profile
// assigns in its own way. delta therefore renumbers both profiles first. It copies each message with new references, and gives
// equal messages the same number.

// delta returns the profile after minus the profile before. taken and over are the time and the duration of the result.
func delta(before, after []byte, taken time.Time, over time.Duration) ([]byte, error) {
	d := &difference{strings: map[string]uint64{"": 0}, samples: map[string][]int64{}}
	d.head = appendBytes(nil, profileString, nil) // string 0
	if err := d.add(before, -1); err != nil {
		return nil, err
	}
	if err := d.add(after, 1); err != nil {
		return nil, err
	}
	out := d.head
	for _, key := range d.order {
		if values := d.samples[key]; slices.ContainsFunc(values, func(v int64) bool { return v != 0 }) {
			out = appendBytes(out, profileSample, appendValues([]byte(key), values))
		}
	}
	out = appendNumber(out, profileTime, uint64(taken.UnixNano()))
	out = appendNumber(out, profileDuration, uint64(over))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(out); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// Fields of a profile.
const (
	profileSampleType  = 1
	profileSample      = 2
	profileMapping     = 3
	profileLocation    = 4
	profileFunction    = 5
	profileString      = 6
	profileTime        = 9
	profileDuration    = 10
	profilePeriodType  = 11
	profilePeriod      = 12
	profileDefaultType = 14
)

// Fields of a sample, and the field of a mapping, location or function that contains its own number.
const (
	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3
	ownNumber      = 1
)

// These tables say what the numbers in the fields of each message refer to. Other fields are copied unchanged.
var (
	valueTypeRefs = refs{1: toString, 2: toString}
	mappingRefs   = refs{5: toString, 6: toString}
	functionRefs  = refs{2: toString, 3: toString, 4: toString}
	lineRefs      = refs{1: toFunction}
	locationRefs  = refs{2: toMapping, 4: toLine}
	labelRefs     = refs{1: toString, 2: toString, 4: toString}
)

// refs says what each field of a message refers to, by the number of the field.
type refs map[uint64]reference

type reference int

const (
	toNothing reference = iota
	toString
	toMapping
	toFunction
	toLine // a message in the field
)

// difference is the state of delta.
type difference struct {
	head    []byte               // all fields but samples
	strings map[string]uint64    // their numbers
	tables  [6]map[string]uint64 // by field of the profile: messages with new references and without their number
	samples map[string][]int64   // values by locations and labels
	order   []string             // keys of samples as they came
}

// source is a profile that is being added, with the meaning of its numbers.
type source struct {
	d       *difference
	strings [][]byte
	tables  [6]map[uint64][]byte // messages by field of the profile and their numbers
	known   [6]map[uint64]uint64 // their new numbers
}

var errProfile = errors.New("the profile cannot be read")

// add adds the samples of a profile, with each value multiplied by sign. If sign is 1, it also adds everything else in the profile.
func (d *difference) add(profile []byte, sign int64) error {
	r, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		return err
	}
	message, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s := &source{d: d}
	for _, table := range []int{profileMapping, profileLocation, profileFunction} {
		s.tables[table], s.known[table] = map[uint64][]byte{}, map[uint64]uint64{}
	}
	fields, err := split(message)
	if err != nil {
		return err
	}
	var mappings []uint64
	for _, f := range fields {
		switch f.number {
		case profileString:
			s.strings = append(s.strings, f.bytes)
		case profileMapping, profileLocation, profileFunction:
			number, err := numberIn(f.bytes)
			if err != nil {
				return err
			}
			s.tables[f.number][number] = f.bytes
			if f.number == profileMapping {
				mappings = append(mappings, number)
			}
		}
	}
	for _, number := range mappings { // in their order, since the program itself is the first
		if _, err := s.renumber(profileMapping, mappingRefs, number); err != nil {
			return err
		}
	}
	for _, f := range fields {
		if err := s.addField(f, sign); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) addField(f field, sign int64) error {
	switch {
	case f.number == profileSample:
		return s.addSample(f.bytes, sign)
	case sign < 0:
		return nil // the other profile has the rest as well
	}
	switch f.number {
	case profileSampleType, profilePeriodType:
		message, err := s.copied(f.bytes, valueTypeRefs)
		s.d.head = appendBytes(s.d.head, f.number, message)
		return err
	case profileDefaultType:
		text, err := s.text(f.value)
		s.d.head = appendNumber(s.d.head, f.number, text)
		return err
	case profilePeriod:
		s.d.head = appendNumber(s.d.head, f.number, f.value)
	}
	return nil
}

// addSample adds a sample to the one with the same locations and labels.
func (s *source) addSample(message []byte, sign int64) error {
	fields, err := split(message)
	if err != nil {
		return err
	}
	var key []byte
	var values []int64
	var labels [][]byte
	for _, f := range fields {
		switch f.number {
		case sampleLocation:
			for _, number := range f.numbers() {
				number, err := s.renumber(profileLocation, locationRefs, number)
				if err != nil {
					return err
				}
				key = appendNumber(key, sampleLocation, number)
			}
		case sampleValue:
			for _, value := range f.numbers() {
				values = append(values, sign*int64(value))
			}
		case sampleLabel:
			label, err := s.copied(f.bytes, labelRefs)
			if err != nil {
				return err
			}
			labels = append(labels, label)
		}
	}
	slices.SortFunc(labels, bytes.Compare)
	for _, label := range labels {
		key = appendBytes(key, sampleLabel, label)
	}
	sum, known := s.d.samples[string(key)]
	if !known {
		s.d.order = append(s.d.order, string(key))
	}
	for i := range min(len(sum), len(values)) {
		values[i] += sum[i]
	}
	s.d.samples[string(key)] = values
	return nil
}

// renumber returns the new number of the message in a table that has this number. 0 refers to nothing.
func (s *source) renumber(table uint64, to refs, number uint64) (uint64, error) {
	if known := s.known[table][number]; known != 0 || number == 0 {
		return known, nil
	}
	message, found := s.tables[table][number]
	if !found {
		return 0, errProfile
	}
	copied, err := s.copied(message, to)
	if err != nil {
		return 0, err
	}
	if s.d.tables[table] == nil {
		s.d.tables[table] = map[string]uint64{}
	}
	all := s.d.tables[table]
	renumbered := all[string(copied)]
	if renumbered == 0 {
		renumbered = uint64(len(all) + 1)
		all[string(copied)] = renumbered
		s.d.head = appendBytes(s.d.head, table, appendNumber(copied, ownNumber, renumbered))
	}
	s.known[table][number] = renumbered
	return renumbered, nil
}

// copied returns a message with new references. Its own number is left out if it is of a table.
func (s *source) copied(message []byte, to refs) (out []byte, err error) {
	fields, err := split(message)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		switch to[f.number] {
		case toString:
			f.value, err = s.text(f.value)
		case toMapping:
			f.value, err = s.renumber(profileMapping, mappingRefs, f.value)
		case toFunction:
			f.value, err = s.renumber(profileFunction, functionRefs, f.value)
		case toLine:
			f.bytes, err = s.copied(f.bytes, lineRefs)
		default:
			if f.number == ownNumber {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if f.isBytes {
			out = appendBytes(out, f.number, f.bytes)
		} else {
			out = appendNumber(out, f.number, f.value)
		}
	}
	return out, nil
}

// text returns the new number of a string.
func (s *source) text(number uint64) (uint64, error) {
	if number >= uint64(len(s.strings)) {
		return 0, errProfile
	}
	text := string(s.strings[number])
	renumbered, known := s.d.strings[text]
	if !known {
		renumbered = uint64(len(s.d.strings))
		s.d.strings[text] = renumbered
		s.d.head = appendBytes(s.d.head, profileString, []byte(text))
	}
	return renumbered, nil
}

// field is a field of a message. It contains a number, or bytes that are a string, a message or several
// numbers.
type field struct {
	number  uint64 // of the field
	value   uint64
	bytes   []byte
	isBytes bool
}

// split returns the fields of a message.
func split(message []byte) (fields []field, err error) {
	for len(message) > 0 {
		var f field
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return nil, errProfile
		}
		message = message[n:]
		if f.value, n = binary.Uvarint(message); n <= 0 {
			return nil, errProfile
		}
		message = message[n:]
		f.number = tag >> 3
		switch tag & 7 {
		case 0:
		case 2:
			if f.value > uint64(len(message)) {
				return nil, errProfile
			}
			f.isBytes, f.bytes, message = true, message[:f.value], message[f.value:]
		default: // profiles do not use numbers of a fixed size
			return nil, errProfile
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// numbers returns the numbers of a field that may be repeated, whether they are single or packed into bytes.
func (f field) numbers() (all []uint64) {
	if !f.isBytes {
		return []uint64{f.value}
	}
	for rest := f.bytes; len(rest) > 0; {
		value, n := binary.Uvarint(rest)
		if n <= 0 {
			break
		}
		all, rest = append(all, value), rest[n:]
	}
	return all
}

// numberIn returns the own number of a message in a table.
func numberIn(message []byte) (uint64, error) {
	fields, err := split(message)
	for _, f := range fields {
		if f.number == ownNumber {
			return f.value, nil
		}
	}
	return 0, errors.Join(err, errProfile)
}

func appendNumber(to []byte, number, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(to, number<<3), value)
}

func appendBytes(to []byte, number uint64, value []byte) []byte {
	to = binary.AppendUvarint(binary.AppendUvarint(to, number<<3|2), uint64(len(value)))
	return append(to, value...)
}

func appendValues(to []byte, values []int64) []byte {
	for _, value := range values {
		to = appendNumber(to, sampleValue, uint64(value))
	}
	return to
}
