"""Pages: what each screen shows, made by pure functions and frozen.

A panel asks for a page and paints it; whatever needs an ``if`` about tensors is decided here.
One module per screen; the room's front door ``ruda.session`` offers all of them.
"""
