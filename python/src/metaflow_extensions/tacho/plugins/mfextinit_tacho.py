"""What Metaflow finds here: the decorator @track_resources (and, in cards/, its card)."""
STEP_DECORATORS_DESC = [("track_resources", ".track_resources.decorator.TrackResourcesDecorator")]
