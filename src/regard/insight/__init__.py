"""Looking inside: attention as it was used, and single heads switched off."""
