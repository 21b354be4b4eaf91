package Drover::Invitation;

# Plugin of the portal: a person follows a link of `people`, chooses a password, and continues in the console. It is
# LemonLDAP::NG's reset of passwords without mail: the form that asks for an address, and the messages, are left out.

use strict;
use Mouse;
use Lemonldap::NG::Portal::Main::Constants qw(PE_BADMAILTOKEN PE_MAILOK PE_NOTOKEN);

extends 'Lemonldap::NG::Portal::Plugins::MailPasswordReset';

our $VERSION = '1.0.0';

sub init {
    my ($self) = @_;
    # Also in a browser where somebody is logged in.
    $self->addAuthRoute( resetpwd => 'resetPwd', [ 'POST', 'GET' ] );
    return $self->SUPER::init;
}

sub resetPwd {
    my ( $self, $req ) = @_;
    my $console = $self->conf->{customPluginsParams}->{console};
    my $id      = $req->param('mail_token') or return redirect($console);
    my $link    = $self->p->getApacheSession( $id, kind => 'TOKEN' );
    $self->p->controlUrl($req);
    $req->error( $link && $link->data->{user} ? $self->_choose( $req, $link ) : PE_BADMAILTOKEN );
    if ( $req->error == PE_MAILOK ) {
        $link->remove;
        return redirect($console);
    }
    # A form is valid for 30 minutes and 3 attempts. The link gives a new one.
    return redirect("$self->{conf}->{portal}resetpwd?mail_token=$id") if $req->error == PE_NOTOKEN;
    $req->data->{mailToken} = $id;
    my ( $template, $parameters ) = $self->display($req);
    return $self->p->sendHtml( $req, $template, params => $parameters );
}

# Shows the form of a link, or sets the password. Form and link must be of the same person.
sub _choose {
    my ( $self, $req, $link ) = @_;
    return $self->_reset($req) unless $req->method eq 'POST' && $req->param('newpassword');
    my $form = $self->ott->getToken( $req->param('token'), 1 );
    return PE_NOTOKEN unless $form && $form->{_user} eq $link->data->{user};
    $req->parameters->remove('mail_token');    # LemonLDAP::NG would end the link before it checks the password
    return $self->_reset($req);
}

sub redirect { return [ 302, [ Location => $_[0], 'Cache-Control' => 'no-store' ], [] ] }

sub send_mail { return 1 }

1;
