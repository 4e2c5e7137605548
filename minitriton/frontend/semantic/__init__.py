"""What each `tl` operation means in IR: types are checked and promoted here, ops are made here."""
