package transcode

import "showfloor/internal/media/recordfile"

// FileName is the name of a rendition's file in the recording.
func FileName(transcodeID, rendition, container string) string {
	extension := recordfile.MP4Extension
	if container == MPEGTS {
		extension = recordfile.TSExtension
	}
	return recordfile.Transcode(transcodeID, rendition, extension)
}
