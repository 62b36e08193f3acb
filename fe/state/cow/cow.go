// Package cow is the copy-on-write of protobuf messages in the replicated
// state.
//
// The state hands its messages to readers, who may keep them. So Apply never
// changes a message in place: it makes a Copy, changes that and puts it where
// the old one was. A deep copy would cost a commit more than all the rest of
// it (a job holds its definition, its tasks and their last answers), and is
// not needed, because what the messages hold is never changed in place either.
package cow

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Copy is a new message with m's fields. Messages, lists and maps inside are
// shared with m: the caller replaces them and never changes them in place, nor
// appends to a list without clipping it first.
func Copy[M proto.Message](m M) M {
	from := m.ProtoReflect()
	to := from.New()
	from.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		to.Set(field, value)
		return true
	})
	to.SetUnknown(from.GetUnknown())
	return to.Interface().(M)
}
