package plainjson

// nameTable holds names of members that occurred before. The objects of a list have the same names, so one string
// serves all of them. A new name replaces the previous one in its slot.
type nameTable [256]string

// maxName is the maximum length of a name that is kept.
const maxName = 32

// same returns name as a string, and reuses the string of an earlier call if it is still in the table.
func (d *decoder) same(name []byte) string {
	if len(name) == 0 || len(name) > maxName {
		return d.kept(name)
	}
	place := &d.names[placeOf(name)]
	if *place != string(name) {
		*place = d.kept(name)
	}
	return *place
}

// placeOf returns a slot that differs for most strings. b must not be empty.
func placeOf(b []byte) byte {
	return b[0]*31 + b[len(b)/2]*7 + b[len(b)-1] + byte(len(b))
}
