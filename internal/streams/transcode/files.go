package transcode

import "showfloor/internal/media/recordfile"

// FileName is the name of a rendition's file in the recording.
func FileName(transcodeID, rendition, container string) string {
	return recordfile.TranscodeFolder(transcodeID) + "/" + baseName(rendition, container)
}

// baseName is the name of a rendition's file in the transcode's folder.
func baseName(rendition, container string) string {
	if container == MPEGTS {
		return rendition + recordfile.TSExtension
	}
	return rendition + recordfile.MP4Extension
}
